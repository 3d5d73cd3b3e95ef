"""The variables of the template that calls a plugin. The host is asked for each of them when a plugin reads it."""


class Variables(dict):
    """All variables, or those of a mapping such as `hostvars`, by the names on the way to it."""

    def __init__(self, call, path=()):
        super().__init__()
        self.call, self.path, self.read = call, path, {}
        self.names = None

    def __missing__(self, name):
        raise KeyError(name)

    def __getitem__(self, name):
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        if name not in self.read:
            self.read[name] = self.ask(name)
        answer = self.read[name]
        if 'mapping' in answer:
            return answer['mapping']
        if 'value' not in answer:
            return self.__missing__(name)
        return answer['value']

    def ask(self, name):
        """Returns what the host says of a name: a value, a mapping of further variables, or nothing."""
        if not isinstance(name, str):
            return {}
        answer = self.call.ask({'variable': [*self.path, name]})
        if answer.get('mapping'):
            return {'mapping': self.mapping(name)}
        if 'value' in answer:
            return {'value': self.call.decode(answer['value'])}
        return {}

    def mapping(self, name):
        # `vars` has itself in it.
        return self if name == 'vars' and not self.path else Variables(self.call, (*self.path, name))

    def __contains__(self, name):
        return dict.__contains__(self, name) or name in self.listed()

    def listed(self):
        """Returns the names that the host has."""
        if self.names is None:
            answer = self.call.ask({'names': list(self.path)})
            self.names = dict.fromkeys(answer.get('names', ()))
        return self.names

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def __bool__(self):
        return True

    def __eq__(self, other):
        return self is other

    __hash__ = None

    def keys(self):
        return {**self.listed(), **dict.fromkeys(dict.keys(self))}.keys()

    def values(self):
        return [self[name] for name in self.keys()]

    def items(self):
        return [(name, self[name]) for name in self.keys()]

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default

    def copy(self):
        """Returns variables of which a plugin may set some. Nothing is read for it, and `vars` has itself in it."""
        made = Variables(self.call, self.path)
        made.read = self.read
        for name in dict.keys(self):
            dict.__setitem__(made, name, dict.__getitem__(self, name))
        return made

    __copy__ = copy

    def __deepcopy__(self, memo):
        return self.copy()

    def __repr__(self):
        return repr(dict(self.items()))
