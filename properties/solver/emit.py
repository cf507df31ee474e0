"""From the rules of a network to one compiled module: z3 expressions in, text that numba compiles out.

The module is written to a cache folder under a name that is made of its text, so that the machine code which
numba keeps beside it is found again by the next process.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from attrs import field, frozen

from quidnunc.impl.seam.cache import cache_folder
from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.rules import MAX_STATE_BITS, Expression, NetworkModel
from quidnunc.properties.solver.symmetry import bit_maps

MARK = "# --- compiled with the rules of a network ---\n"
CHUNK_BITS = 9
"""Images of states are looked up in tables, so many bits at a time: few enough for the nearest cache."""

_HEAD = '''"""Written by quidnunc: {about}"""
from __future__ import annotations

import numba
import numpy as np

U = np.uint64
'''

_LITERAL = re.compile(r"U\(\d+\)")
_TWO = {"EQ": "==", "DISTINCT": "!=", "ULT": "<", "ULEQ": "<=", "UGT": ">", "UGEQ": ">="}


@frozen(eq=False)
class Emitter:
    """Statements that compute expressions once each, over the fields of a packed word `s`."""

    offsets: dict[str, tuple[int, int]]
    lines: list[str] = field(factory=list)
    seen: dict[int, str] = field(factory=dict)
    kept: list[Expression] = field(factory=list)
    """z3 may reuse the id of an expression that nobody holds."""

    def value(self, expression: Expression) -> str:
        """The name (or literal) of an expression's value, as uint64; a Bool is 0 or 1."""
        key = expression.get_id()
        if key not in self.seen:
            self.kept.append(expression)
            text = self._text(expression)
            if not _LITERAL.fullmatch(text):
                name = f"t{len(self.lines)}"
                self.lines.append(f"{name} = {text}")
                text = name
            self.seen[key] = text
        return self.seen[key]

    def _text(self, expression: Expression) -> str:
        kind = expression.decl().kind()
        if kind == z3.Z3_OP_UNINTERPRETED:
            at, width = self.offsets[expression.decl().name()]
            return f"(s >> U({at})) & U({(1 << width) - 1})"
        if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
            return f"U({int(kind == z3.Z3_OP_TRUE)})"
        if kind == z3.Z3_OP_BNUM:
            return f"U({expression.as_long()})"
        parts = [self.value(child) for child in expression.children()]
        mask = (1 << expression.size()) - 1 if z3.is_bv(expression) else 1
        text = _applied(kind, parts, mask)
        if text is None:
            raise SpecError(f"the emitter of network rules knows no {expression.decl().name()}: {expression}")
        return text


def _applied(kind: int, parts: Sequence[str], mask: int) -> str | None:
    if kind == z3.Z3_OP_AND:
        return " & ".join(parts)
    if kind == z3.Z3_OP_OR:
        return " | ".join(parts)
    if kind == z3.Z3_OP_NOT:
        return f"{parts[0]} ^ U(1)"
    if kind == z3.Z3_OP_ITE:
        return f"{parts[1]} if {parts[0]} else {parts[2]}"
    arithmetic = {z3.Z3_OP_BADD: " + ", z3.Z3_OP_BSUB: " - ", z3.Z3_OP_BMUL: " * "}.get(kind)
    if arithmetic:
        # Above 64 bits uint64 wraps as the bit vector does.
        return f"({arithmetic.join(parts)}) & U({mask})"
    if kind == z3.Z3_OP_IMPLIES:
        return f"({parts[0]} ^ U(1)) | {parts[1]}"
    compare = next((sign for name, sign in _TWO.items() if kind == getattr(z3, f"Z3_OP_{name}")), None)
    return f"U({parts[0]} {compare} {parts[1]})" if compare else None


def _function(head: str, lines: Iterable[str]) -> str:
    return "\n    ".join([f"@numba.njit(cache=True)\ndef {head}:", *lines]) + "\n\n\n"


def _successors(network: NetworkModel) -> str:
    """One function for all rules. An expression that several share is computed once."""
    offsets = network.offsets()
    emitter = Emitter(offsets)
    emitter.lines.append("n = 0")
    for number, rule in enumerate(network.rules):
        guard = emitter.value(rule.guard)
        written = sum(((1 << offsets[name][1]) - 1) << offsets[name][0] for name in rule.updates)
        terms = [f"(s & U({(1 << 64) - 1 - written}))"]
        for name, value in rule.updates.items():
            text = emitter.value(value)
            if text != "U(0)":
                terms.append(f"({text} << U({offsets[name][0]}))")
        # Written whether enabled or not: the place is taken by the next one if it was not.
        emitter.lines.append(f"out[n] = {' | '.join(terms)}")
        emitter.lines.append(f"fired[n] = {number}")
        emitter.lines.append(f"n += np.int64({guard})")
    return _function("successors(s, out, fired)", [*emitter.lines, "return n"])


def _noted(network: NetworkModel) -> str:
    emitter = Emitter(network.offsets())
    bits = [f"({emitter.value(claim.noted())} << U({i}))" for i, claim in enumerate(network.claims)]
    return _function("noted(s)", [*emitter.lines, f"return {' | '.join(['U(0)', *bits])}"])


def _image(network: NetworkModel, symmetry: bool) -> str:
    """Images under all permutations, looked up chunk by chunk; without symmetry the state itself."""
    maps = bit_maps(network) if symmetry else [list(range(network.bits))]
    chunks = range(0, network.bits, CHUNK_BITS)
    tables = [[_chunk_images(one, at) for at in chunks] for one in maps]
    looked = [f"TABLES[p, {k}, (s >> U({at})) & U({(1 << CHUNK_BITS) - 1})]" for k, at in enumerate(chunks)]
    text = f"IMAGES = {len(maps)}\n"
    if not symmetry:
        return text + "\n\n" + _function("image(s, p)", ["return s"])
    text += f"TABLES = np.array({tables}, dtype=np.uint64)\n\n\n"
    return text + _function("image(s, p)", [f"return {' | '.join(looked)}"])


def _chunk_images(bit_map: Sequence[int], at: int) -> list[int]:
    places = bit_map[at : at + CHUNK_BITS]
    found = []
    for value in range(1 << CHUNK_BITS):
        found.append(sum(1 << place for k, place in enumerate(places) if value >> k & 1))
    return found


def module_text(network: NetworkModel, *, symmetry: bool) -> str:
    """The text of the module for a network, with or without the images of states under permutations.

    Raises SpecError where a state does not fit into a word, or an operator is not known here.
    """
    if network.bits > MAX_STATE_BITS:
        raise SpecError(
            f"{network.name} with {network.peers} peers has states of {network.bits} bits, and "
            f"{MAX_STATE_BITS} fit into a word; take fewer peers"
        )
    kernel = files("quidnunc.properties.solver").joinpath("kernel.py").read_text(encoding="utf-8")
    loops = kernel.split(MARK)[1].replace("\ndef ", "\n@numba.njit(cache=True)\ndef ")
    shown = " ".join(f"{key}={value}" for key, value in network.parameters.items())
    head = _HEAD.format(about=f"{network.name} {shown}")
    sizes = f"RULES = {len(network.rules)}\n"
    return head + sizes + _image(network, symmetry) + _successors(network) + _noted(network) + loops


def compiled_module(network: NetworkModel, *, symmetry: bool) -> ModuleType:
    """The compiled functions of a network; what was compiled before is loaded."""
    text = module_text(network, symmetry=symmetry)
    name = f"{network.name.replace('-', '_')}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    path = _written(name, text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


def _written(name: str, text: str) -> Path:
    """The file of a module, written whole or not at all, or in a folder of this process at the worst."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.py"
        # A file that says something else is no cache of ours.
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return path
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, suffix=".part", delete=False, encoding="utf-8"
        ) as part:
            part.write(text)
        os.replace(part.name, path)
        return path
    except OSError:
        path = Path(tempfile.mkdtemp(prefix="quidnunc-")) / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        return path
