def greeting(name):
    return "Hello, %s" % name
