"""The worker's channel to the host, and its start, in a native process.

modbox starts it in a room. Standard input is a socket; a message on it is JSON behind four bytes of its length, the least
significant first.
"""

CHANNEL = os.dup(0)
NULL = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1):
    os.dup2(NULL, stream)


def receive():
    """Returns the next message; ends the process at the end of the stream."""
    length = int.from_bytes(read(4), 'little')
    return json.loads(read(length))


def read(length):
    parts = []
    while length:
        part = os.read(CHANNEL, min(length, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        length -= len(part)
    return b''.join(parts)


def write(data):
    data = len(data).to_bytes(4, 'little') + data
    while data:
        data = data[os.write(CHANNEL, data):]


def ask(question):
    """Sends a question, and returns the next message."""
    send(question)
    return receive()


def main():
    try:
        from ansible.plugins.loader import init_plugin_loader
        import ansible.plugins.filter.core
        init_plugin_loader()
        plugins = prepared()
    except Exception as error:
        send({'error': one_line(error)})
        return
    send({'ready': True})
    os.dup2(NULL, 2)
    while True:
        plugins.serve(receive())


main()
