"""The C ABI by ctypes: the library, the structs of berth/c.h, statuses as exceptions, objects that end.

Every function is called through `call`: the GIL is released, a status becomes an exception with the engine's
own text, and a process that was forked is told what to do instead of using what its parent made.
"""

from __future__ import annotations

import ctypes as c
import ctypes.util
import os
import pathlib
import threading
from typing import Any, Dict, Iterable, List, Optional, Sequence

import numpy as np

ABI = 3  # of berth/c.h: the first version with all that is called here


class Error(Exception):
    """The engine's word on what went wrong, where, and how to mend it. `status` is that of berth/c.h."""

    status = 13


class InvalidArgument(Error, ValueError):
    """A value out of range, an unknown name or option, an array of a wrong shape or type."""


class InvalidGraph(Error, ValueError):
    """A cycle, duplicate names, bad sizes."""


class InvalidFile(Error, ValueError):
    """The content of a file or text breaks the rules of its format."""


class NotFound(Error, LookupError):
    """A file, plugin or preset does not exist."""


class IOFailure(Error, OSError):
    """The system refused a read or a write."""


class Unsupported(Error, NotImplementedError):
    """Understood, but this part cannot do it."""


class Infeasible(Error):
    """No placement satisfies memory, device kinds and constraints."""


class Cancelled(Error):
    """Stopped on request before there was a result."""


ERRORS = {1: InvalidArgument, 2: InvalidGraph, 3: InvalidFile, 4: NotFound, 5: IOFailure, 6: Unsupported,
          8: Infeasible, 9: Cancelled}


class Text(c.Structure):
    """A text that is given; it keeps its bytes alive."""

    _fields_ = [("data", c.c_char_p), ("size", c.c_size_t)]


class GivenText(c.Structure):
    """A text of the library's."""

    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t)]

    def __str__(self) -> str:
        return c.string_at(self.data, self.size).decode("utf-8", "replace") if self.size else ""


Status, Handle, StopFunction = c.c_int32, c.c_void_p, c.CFUNCTYPE(c.c_int32, c.c_void_p)
ProgressFunction = c.CFUNCTYPE(None, c.c_void_p, c.c_double, GivenText)
_TYPES: Dict[str, Any] = {
    "i": c.c_int32, "q": c.c_int64, "Q": c.c_uint64, "d": c.c_double, "z": c.c_size_t, "b": c.c_uint8, "h": Handle,
    "p": c.c_void_p, "T": Text, "G": GivenText, "stop": StopFunction, "tell": ProgressFunction}


def _type(code: str) -> Any:
    """A type by its letter; a star before it makes a pointer."""
    return c.POINTER(_type(code[1:])) if code[0] == "*" else _TYPES[code]


def _struct(name: str, fields: str) -> Any:
    pairs = [each.split(":") for each in fields.split()]
    made = type(name, (c.Structure,), {"_fields_": [(field, _type(code)) for field, code in pairs]})
    _TYPES[name] = made
    return made


EngineOptions = _struct("EngineOptions", "size:z settings:T no_environment:i plugin_folders:*T plugin_folder_count:z "
                                         "overrides:T")
Tensor = _struct("Tensor", "size:z name:T dtype:T shape:*q rank:i bytes:q")
Work = _struct("Work", "size:z flops:d bytes:d launches:d op_class:T dtype:T workspace_bytes:d")
PlaceOptions = _struct("PlaceOptions", "size:z policy:T options:p option_count:z fallbacks:*T fallback_count:z "
                                       "budget_s:d moves:q seed:q threads:i initial:*i should_stop:stop progress:tell "
                                       "user:p bound:T ask_every_s:d")
Summary = _struct("Summary", "size:z feasible:i end:i objective_us:d runtime_us:d bound_us:d best_single_us:d "
                             "best_single_device:i worst_device:i excess_bytes:q evaluations:q wall_s:d "
                             "transfer_count:q transfer_bytes:q own_us:d best_us:d start_us:d whose:i")
Array = _struct("Array", "size:z data:p dtype:G rank:i rows:q columns:q layers:q")
EnvironmentOptions = _struct("EnvironmentOptions", "size:z group_features:*T group_feature_count:z device_features:*T "
                                                   "device_feature_count:z look_ahead:i threads:i")
EpisodesOptions = _struct("Episodes", "size:z count:i seed:Q traversal:T start:T initial:*i initial_count:z")
PolicyOption = _struct("PolicyOption", "name:T default_value:T meaning:T")


class Search(c.Structure):
    """The input of a policy."""


_TYPES.update(Search=Search)
_TYPES.update(asks=c.CFUNCTYPE(Status, _type("*Search"), _type("*i"), _type("*d"), _type("*i")),
              stops=c.CFUNCTYPE(c.c_int32, _type("*Search")), says=c.CFUNCTYPE(None, _type("*Search"), Text),
              chooses=c.CFUNCTYPE(GivenText, _type("*Search"), Text),
              places=c.CFUNCTYPE(Status, c.c_void_p, _type("*Search"), _type("*i")))
PlaceFunction = _TYPES["places"]
Search._fields_ = [(each.split(":")[0], _type(each.split(":")[1])) for each in (
    "size:z group_count:i device_count:i cost_us:*d param_bytes:*q memory_bytes:*q edge_count:z edge_src:*i edge_dst:*i "
    "edge_bytes:*q seed:Q host:p evaluate:asks should_stop:stops option:chooses say:says").split()]
Policy = _struct("Policy", "size:z name:T version:T description:T options:*PolicyOption option_count:z place:places "
                           "destroy:p user:p")

TRANSFER = np.dtype([("tensor", "i4"), ("producer", "i4"), ("src", "i4"), ("dst", "i4"), ("bytes", "i8"),
                     ("start_us", "f8"), ("end_us", "f8")], align=True)

_FUNCTIONS = """
engine_new *EngineOptions *h; engine_describe h *G; engine_register h *Policy; builder_new T T *h;
builder_ops h z *T *T *d *q *q *i; builder_edges h z *i *i; builder_output h i *Tensor *i; builder_input h i i;
builder_cost h i T d; builder_work h i *Work; builder_finish h *h; graph_load h T *h; graph_op_name h i *G;
cluster_new h T *h; cluster_device h i *G *G; problem_new h h h p *h; problem_array h T *Array; problem_read h T *i z;
place h h *PlaceOptions *h; compare h h *T z *PlaceOptions *h *i *G;
evaluate h *i z *h; result_summary h *Summary; result_text h i *G; result_explain h i *G; result_array h T *Array;
result_plan h T *G; result_transfers h z p z *z; report *h z *G; evaluator_new h i *h;
evaluator_batch h i *i z z *d *q *b; features *G; environment_new h *EnvironmentOptions *h;
environment_reset h *Episodes; environment_step h *i z *i; environment_array h T *Array"""

_library: Optional[c.CDLL] = None
_loading = threading.Lock()


def _candidates() -> Iterable[str]:
    """BERTH_LIBRARY, then the wheel's own library, then one that is installed."""
    named = os.environ.get("BERTH_LIBRARY")
    if named:
        yield named
        return
    own = pathlib.Path(__file__).parent / "lib" / "libberth_c.so.1"
    if own.exists():
        yield str(own)
    yield "libberth_c.so.1"


def library() -> c.CDLL:
    """The library, loaded when something first asks for it. Raises NotFound that says where it was sought."""
    global _library
    with _loading:
        if _library is not None:
            return _library
        reasons: List[str] = []
        for path in _candidates():
            try:
                loaded = c.CDLL(path)
            except OSError as error:
                reasons.append(str(error))
                continue
            if not hasattr(loaded, "berth_abi") or loaded.berth_abi() < ABI:
                reasons.append(f"{path} is older than this package (ABI {ABI}); install the same version of both")
                continue
            for line in _FUNCTIONS.split(";"):
                name, *arguments = line.split()
                function = getattr(loaded, "berth_" + name)
                function.argtypes, function.restype = [_type(code) for code in arguments], Status
            for name in ("berth_version", "berth_message"):
                getattr(loaded, name).restype = GivenText
            loaded.berth_release.argtypes, loaded.berth_release.restype = [Handle], None
            loaded.berth_graph_op_count.argtypes = [Handle]
            loaded.berth_cluster_device_count.argtypes = [Handle]
            _library = loaded
            return loaded
    raise NotFound("the library libberth_c.so.1 was not found: " + "; ".join(reasons) +
                   ". Install the wheel, or name the library in BERTH_LIBRARY")


def call(name: str, *arguments: Any) -> None:
    """Calls berth_<name>; anything but BERTH_OK is raised."""
    loaded = library()
    status = getattr(loaded, "berth_" + name)(*arguments)
    if status != 0:
        raise error_of(status, str(loaded.berth_message()))


def error_of(status: int, message: str) -> Error:
    error = ERRORS.get(status, Error)(message)
    error.status = status
    return error


for _each in [Error, *ERRORS.values()]:
    _each.__module__ = "berth"  # the name under which it is caught


def text(words: Any, what: str = "a name") -> Text:
    if isinstance(words, os.PathLike):
        words = os.fspath(words)
    if not isinstance(words, str):
        raise InvalidArgument(f"{what} is a {type(words).__name__}; give text")
    try:
        data = words.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{what} is no text that UTF-8 can hold: {error.reason}") from None
    return Text(data, len(data))


def texts(words: Any, what: str = "names") -> Any:
    """An array of texts, or of none."""
    if isinstance(words, str) or not isinstance(words, (Sequence, np.ndarray)) or getattr(words, "ndim", 1) != 1:
        raise InvalidArgument(f"{what} are a {type(words).__name__}; give a list of texts")
    return (Text * len(words))(*[text(each, f"one of the {what}") for each in words])


def given(name: str, *arguments: Any) -> str:
    """The text that a function gives out."""
    out = GivenText()
    call(name, *arguments, out)
    return str(out)


def whole(number: Any, what: str, low: int = -(1 << 31), high: int = (1 << 31) - 1) -> int:
    """An integer within a range; ctypes would cut off what is too large."""
    if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, np.integer)):
        raise InvalidArgument(f"{what} is a {type(number).__name__}; give a whole number")
    if not low <= number <= high:
        raise InvalidArgument(f"{what} is {number}; give a number from {low} to {high}")
    return int(number)


def integers(values: Any, shape: Sequence[Optional[int]], what: str, dtype: type = np.int32) -> np.ndarray:
    """Whole numbers of that shape (None = any extent), in rows, copied only where they are not so already."""
    try:
        array = np.asarray(values)
    except Exception as error:
        raise InvalidArgument(f"{what}: no array can be made of a {type(values).__name__}: {error}") from None
    if array.dtype.kind not in "iu":
        if array.size:
            raise InvalidArgument(f"{what} are {array.dtype}; give whole numbers (numpy.int32)")
        array = np.zeros(array.shape, dtype)
    _check_shape(array, shape, what)
    limits = np.iinfo(dtype)
    if array.size and array.dtype != dtype and not (limits.min <= int(array.min()) and
                                                    int(array.max()) <= limits.max):
        raise InvalidArgument(f"{what} have a number beyond {np.dtype(dtype).name}; give one within it")
    return np.ascontiguousarray(array, dtype=dtype)


def reals(values: Any, shape: Sequence[Optional[int]], what: str) -> np.ndarray:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf":
            if array.size:
                raise TypeError(f"{array.dtype}; give numpy.float64")
            array = np.zeros(array.shape)
        array = np.ascontiguousarray(array, dtype=np.float64)
    except Exception as error:
        raise InvalidArgument(f"{what} are no numbers: {error}") from None
    _check_shape(array, shape, what)
    return array


def flag(value: Any, what: str) -> int:
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(f"{what} is a {type(value).__name__}; give True or False")
    return int(value)


def real(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{what} is a {type(value).__name__}; give a number") from None


def _check_shape(array: np.ndarray, shape: Sequence[Optional[int]], what: str) -> None:
    if array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape)):
        return
    wanted = ", ".join("any" if n is None else str(n) for n in shape)
    raise InvalidArgument(f"{what} have the shape {list(array.shape)}; give [{wanted}]")


def pointer(array: Optional[np.ndarray], kind: Any) -> Any:
    return None if array is None else array.ctypes.data_as(c.POINTER(kind))


class Object:
    """An object of the library. It ends when nothing refers to it any more, views of its numbers included."""

    def __init__(self, function: str, *arguments: Any) -> None:
        self._handle, self._process = Handle(), os.getpid()
        call(function, *arguments, self._handle)

    @classmethod
    def take(cls, handle: int) -> "Object":
        """Owns what a call gave out."""
        made = cls.__new__(cls)
        made._handle, made._process = Handle(handle), os.getpid()
        return made

    def is_own(self) -> bool:
        """Whether this process made it, and not one that it was forked from."""
        return self._process == os.getpid()

    @property
    def handle(self) -> Any:
        if not self.is_own():
            raise InvalidArgument("this object was made before the process was forked; make another one here, or "
                                  "start processes by 'spawn' (multiprocessing.get_context)")
        return self._handle

    def array(self, function: str, name: str) -> np.ndarray:
        """A view that nobody may write to; it keeps this object alive."""
        seen = Array(size=c.sizeof(Array))
        call(function, self.handle, text(name), seen)
        dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64,
                 "u8": np.uint8}[str(seen.dtype)]
        shape = (seen.rows, seen.columns, seen.layers)[: seen.rank]
        count = int(np.prod(shape))
        if count == 0:
            return np.zeros(shape, dtype)
        memory = (c.c_uint8 * (count * np.dtype(dtype).itemsize)).from_address(seen.data)
        memory.owner = self
        view = np.frombuffer(memory, dtype).reshape(shape)
        view.flags.writeable = False
        return view

    def __deepcopy__(self, _: Any) -> "Object":
        return self

    def __reduce__(self) -> Any:
        raise InvalidArgument("an object of the engine cannot be sent to another process; make it there, from its model")

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        # A forked process has none of the threads that an object may wait for when it ends.
        if handle and _library is not None and self.is_own():
            _library.berth_release(handle)
