"""Pools of threads that make each call when it is handed to them."""

import concurrent.futures
import os


def _future(function, arguments, named):
    """Makes a call, and returns its result or error as a future that is done."""
    future = concurrent.futures.Future()
    future.set_running_or_notify_cancel()
    try:
        result = function(*arguments, **named)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
    return future


def submit(self, function, /, *arguments, **named):
    """Replaces `ThreadPoolExecutor.submit`."""
    if self._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    return _future(function, arguments, named)


class AsyncResult:
    """The result of one call or of several, which are done."""

    def __init__(self, futures, single, callback, error_callback):
        self._futures, self._single = futures, single
        if self.successful():
            if callback is not None:
                callback(self.get())
        elif error_callback is not None:
            error_callback(self._error())

    def _error(self):
        return next(filter(None, [future.exception() for future in self._futures]), None)

    def get(self, timeout=None):
        """Returns what the call returned, or a list of what the calls returned, or raises the first error."""
        del timeout
        results = [future.result() for future in self._futures]
        return results[0] if self._single else results

    def wait(self, timeout=None):
        """Returns at once."""

    def ready(self):
        """Returns that the calls are done."""
        return True

    def successful(self):
        """Returns whether no call raised an error."""
        return self._error() is None


class ThreadPool:
    """Stands for `multiprocessing.pool.ThreadPool`."""

    def __init__(self, processes=None, initializer=None, initargs=()):
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._processes, self._is_open = processes or os.cpu_count() or 1, True
        if initializer is not None:
            initializer(*initargs)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.terminate()

    def _call(self, function, calls, single=False, callback=None, error_callback=None):
        if not self._is_open:
            raise ValueError("Pool not running")
        return AsyncResult([_future(function, *call) for call in calls], single, callback, error_callback)

    def apply(self, func, args=(), kwds=None):
        """Calls a function."""
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func, args=(), kwds=None, callback=None, error_callback=None):
        """Calls a function, and returns its result as an `AsyncResult`."""
        return self._call(func, [(args, kwds or {})], True, callback, error_callback)

    def map(self, func, iterable, chunksize=None):
        """Calls a function with each item."""
        return self.map_async(func, iterable, chunksize).get()

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        """Calls a function with each item, and returns the results as an `AsyncResult`."""
        del chunksize
        return self._call(func, [((item,), {}) for item in iterable], False, callback, error_callback)

    def starmap(self, func, iterable, chunksize=None):
        """Calls a function with the parts of each item."""
        return self.starmap_async(func, iterable, chunksize).get()

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        """Calls a function with the parts of each item, and returns the results as an `AsyncResult`."""
        del chunksize
        return self._call(func, [(tuple(item), {}) for item in iterable], False, callback, error_callback)

    def imap(self, func, iterable, chunksize=1):
        """Calls a function with each item, and returns an iterator over the results. It raises a call's error there."""
        del chunksize
        return (future.result() for future in self._call(func, [((item,), {}) for item in iterable])._futures)

    imap_unordered = imap

    def close(self):
        """Takes no more calls."""
        self._is_open = False

    terminate = close

    def join(self):
        """Returns at once."""
        if self._is_open:
            raise ValueError("Pool is still running")
