"""Programs, and the classes of their structs."""

import os
import threading
import weakref

from . import _tl
from ._errors import CompileError
from ._support import TL_NAMES, did_you_mean

_TRANSFORMS = ("hessian", "jacobian", "jvp", "vjp")  # of functions, in tl; others have methods of Program
_live = weakref.WeakValueDictionary()  # programs by their origins, for what is unpickled


def load(path, **settings):
    """Compiles a .tl file, or an ONNX model: tl.load("model.tl", threads=2).

    Settings are the flags of `tl run`: threads, memory_limit, sync, device and others.
    """
    path = os.fspath(path)
    program = Program(settings)
    text = None
    if not path.endswith(".onnx"):
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            pass  # the compiler says it better
    program._add_file(path)
    program._begin(os.path.abspath(path), text, path)
    return program


def compile(text, name="<text>", **settings):
    """Compiles a program: tl.compile("fn twice(x: f32[n]) -> f32[n] = 2.0 * x").twice(array).

    `name` is in messages, and its folder is where relative imports begin.
    """
    program = Program(settings)
    program._add_source(name, text)
    program._begin(name, text, name)
    return program


class Program(_tl.Session):
    """A compiled program: its functions and structs are attributes, and items where an attribute has the name already.

    tl.load and tl.compile make programs. May be used from any number of threads.
    """

    def __init__(self, settings):
        self._settings = {}
        for word, value in settings.items():
            value = str(value).lower() if isinstance(value, bool) else str(value)
            self._set(word.replace("_", "-"), value)
            self._settings[word] = value
        self._functions = {}
        self._classes = {}
        self._lock = threading.Lock()

    def _begin(self, name, text, shown):
        self._name, self._text, self._shown = name, text, shown
        self._declared = {declaration[0]: declaration for declaration in self._declarations()}
        _live[self._origin()] = self

    def _origin(self):
        return self._name, self._text, tuple(sorted(self._settings.items()))

    # ---- names

    def __getattr__(self, name):
        if "_declared" not in self.__dict__:  # not before __init__ is done
            raise AttributeError(name)
        try:
            value = self[name]
        except KeyError:
            raise AttributeError("%s has no function or struct '%s'%s" % (self._shown, name, self._instead(name))) from None
        self.__dict__[name] = value  # found at once from now on
        return value

    def _instead(self, name):
        if name in _TRANSFORMS:
            return ": a function of tl's own is made by p.function(\"%s(f)\")" % name
        return did_you_mean(name, self._declared)

    def __getitem__(self, name):
        declaration = self._declaration(name)
        if declaration is None:
            raise KeyError(name)
        return self._struct_class(name) if declaration[6] else self._made(name, name)

    def _declaration(self, name):
        """Of a function, or a struct, also of a module: "nn.Linear". None where there is none."""
        return self._declared.get(name) or (self._struct(name) if "." in name else None)

    def __contains__(self, name):
        return isinstance(name, str) and self._declaration(name) is not None

    def __iter__(self):
        return iter(self._declared)

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(self._declared))

    def __repr__(self):
        if "_declared" not in self.__dict__:
            return "<tl.Program>"
        return "<tl.Program %s: %s%s>" % (self._shown, ", ".join(self._declared), ", closed" if self._closed else "")

    def __setattr__(self, name, value):
        if "_declared" in self.__dict__:
            raise AttributeError("a program cannot be changed")
        super().__setattr__(name, value)

    # ---- functions

    def _made(self, expression, like):
        key = expression, like
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = self._function(None, expression, like, self._declared.get(like))
        return function

    def function(self, expression, like=None):
        """Any expression that is a function: p.function("|x, y| f(x, 2.0) + y").

        `like`: a function whose parameters (their names, types and defaults) it has.
        """
        like = like._like if isinstance(like, _tl.Function) else like
        if like is not None and like not in self._declared:
            raise KeyError(like)
        return self._made(expression, like)

    def _words(self, function):
        if isinstance(function, _tl.Function):
            if function.program is not self:
                raise ValueError("%s is a function of another program" % function._expression)
            return function._expression, function._like
        return function, function if function in self._declared else None

    def grad(self, function, argnums=0):
        """The gradient of a function, by its name or as p.f, in one argument or a tuple of them."""
        expression, like = self._words(function)
        return self._made("grad(%s%s)" % (expression, _argnums(argnums)), like)

    def value_and_grad(self, function, argnums=0):
        """A function that gives a pair: the value and the gradient."""
        expression, like = self._words(function)
        return self._made("value_and_grad(%s%s)" % (expression, _argnums(argnums)), like)

    def vmap(self, function, axes=None):
        """The function for each element along an axis: axes=(0, None) takes the first argument's rows.

        Arguments are passed by position.
        """
        expression, _ = self._words(function)
        return self._made("vmap(%s%s)" % (expression, "" if axes is None else ", axes = " + _numbers(axes)), None)

    # ---- structs

    def _struct_class(self, type_text, fields=None):
        """The class of a struct by the name of its type: "Model", "nn.Linear<f32>".

        None of one that the program cannot name, if it is not known yet and its fields are not given.
        """
        name = type_text
        for bracket in "<[(":
            name = name.partition(bracket)[0]
        with self._lock:
            cls = self._classes.get(name)
            if cls is None:
                declaration = self._declared.get(name) or self._struct(name)
                if declaration is not None or fields is not None:
                    cls = self._classes[name] = self._new_class(name, declaration, fields)
        return cls

    def _new_class(self, name, declaration, names):
        if declaration:
            names = [parameter[0] for parameter in declaration[7]]
        members = {field: property(_getter(field)) for field in names}
        members.update(__slots__=(), __doc__="", __module__=__package__, _program=self, _fields=tuple(names), _name=name)
        if declaration:
            members["_construct"] = construct = self._function(None, name, name, declaration)
            members["__doc__"] = construct.__doc__
            members["__signature__"] = construct.__signature__
        return type(name, (Struct,), members)

    # ---- its end

    def close(self, wait=True):
        """Frees the program. Its functions cannot be called then; results stay valid.

        It waits for calls that have begun, until Ctrl-C; with wait=False these are interrupted.
        """
        self._close(wait)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._close(True)

    def __reduce__(self):
        return restore_program, (self._origin(),)

    def __copy__(self):
        return self

    def __deepcopy__(self, _):
        return self


def _numbers(values):
    if isinstance(values, (tuple, list)):
        return "(%s%s)" % (", ".join(_numbers(value) for value in values), "," if len(values) == 1 else "")
    return "none" if values is None else str(int(values))


def _argnums(argnums):
    return "" if isinstance(argnums, int) and argnums == 0 else ", argnums = " + _numbers(argnums)


def _getter(field):
    return lambda self: self._get(field)


class Struct(_tl.Struct):
    """A struct of a program: its fields are attributes that cannot be set. A field comes before a method of its name."""

    __slots__ = ()

    def __new__(cls, *arguments, **fields):
        cls._check_name()
        return cls._construct(*arguments, **fields)

    @classmethod
    def load(cls, path):
        """Reads what `save` has written, from a .safetensors or .npz file."""
        cls._check_name()
        program = cls._program
        read = program.function("|path: str| { let value: %s = load(path); value }" % cls._name)
        return read(os.fspath(path))

    def save(self, path):
        """Writes the fields to a .safetensors or .npz file."""
        self._check_name()
        self._program.function("|value, path: str| save(path, value)")(self, os.fspath(path))

    @classmethod
    def _check_name(cls):
        if not hasattr(cls, "_construct"):
            raise TypeError("the program has no name for %s: import the module that declares it" % cls._name)

    def with_(self, **changes):
        """The same struct but for these fields."""
        for name in changes:
            if name not in self._fields:
                raise TypeError("%s has no field '%s'" % (self._name, name))
        self._check_name()
        made = self._construct(**{name: changes.get(name, self._get(name)) for name in self._fields})
        made._take_family(self)
        return made

    @classmethod
    def fields(cls):
        """The names of the fields."""
        return cls._fields

    def __getattr__(self, name):
        raise AttributeError("%s has no field '%s'%s" % (self._name, name, did_you_mean(name, self._fields)))

    def __repr__(self):
        shown = []
        for name in self._fields:
            value = self._get(name)
            shape = getattr(value, "shape", ())
            if len(shape):
                dtype = str(value.dtype).rpartition(".")[2]
                value = "%s%s" % (TL_NAMES.get(dtype, dtype), list(shape))
            else:
                value = repr(value)
            shown.append("%s=%s" % (name, value))
        return "%s(%s)" % (self._name, ", ".join(shown))

    def __reduce__(self):
        self._check_name()
        fields = {name: self._get(name) for name in self._fields}
        return restore_struct, (self._program._origin(), self._name, fields)


# ---- out of pickles


def restore_program(origin):
    name, text, settings = origin
    program = _live.get(origin)
    if program is not None and not program._closed:
        return program
    settings = dict(settings)
    return load(name, **settings) if text is None else compile(text, name, **settings)


def restore_function(origin, expression, like):
    return restore_program(origin)._made(expression, like)


def restore_struct(origin, name, fields):
    return restore_program(origin)._struct_class(name)(**fields)


__all__ = ["CompileError", "Program", "Struct", "compile", "load"]
