#!/usr/bin/perl
# WANT_JSON: the arguments are in the JSON file $ARGV[0].
use strict;
use warnings;
use JSON::PP;

open my $file, '<', $ARGV[0] or die "cannot read $ARGV[0]: $!\n";
my $args = decode_json(do { local $/; <$file> });
my %result = (
    changed  => JSON::PP::false,
    greeting => 'hello ' . $args->{name} . ($args->{loud} ? '!' : ''),
    n        => $args->{n} + 0,
);
$result{check} = JSON::PP::true if $args->{_ansible_check_mode};
print encode_json(\%result), "\n";
