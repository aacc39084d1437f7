"""Mutants of a module: one small change each, by the standard operators, drawn by a seeded order.

Messages, docstrings, type hints, decorators, imports and protocols are left alone.
"""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).resolve().parents[2]

ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
# The boundary moved, then the comparison turned round.
COMPARISON = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OTHER_FUNCTION = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"}
OTHER_FUNCTION |= {"any": "all", "all": "any"}
DROPPED = ("abs", "sqrt", "copy")
SKIPPED = (ast.Import, ast.ImportFrom, ast.Raise, ast.JoinedStr, ast.Global, ast.Assert)
SKIPPED_FIELDS = ("annotation", "returns", "decorator_list", "bases")


@dataclass(frozen=True)
class Mutant:
    """One change of one statement.

    Parameters
    ----------
    path : str
        File of the module, from the root of the project.
    function : str
        Dotted name of the function or class the statement is in; empty for the module itself.
    before, after : str
        The statement as it is and as the mutant has it.
    repeat : int
        How many equal changes of equal statements come before in the same function.
    line : int
        Where the statement begins.
    ordinal : int
        Which of all changes of the module it is.
    """

    path: str
    function: str
    before: str
    after: str
    repeat: int
    line: int
    ordinal: int

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names the mutant as long as its statement stays as it is."""
        return self.path, self.function, self.before, self.after, self.repeat

    @property
    def module(self) -> str:
        """Dotted name of the module."""
        return self.path.removesuffix(".py").replace("/", ".")

    def code(self) -> CodeType:
        """Return the mutated module, compiled."""
        tree = ast.parse((ROOT / self.path).read_text())
        for ordinal, _ in enumerate(_changes(tree)):
            if ordinal == self.ordinal:
                return compile(ast.fix_missing_locations(tree), str(ROOT / self.path), "exec")
        raise LookupError(f"{self} is not among the mutants of its module any more.")

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}: `{self.before}` -> `{self.after}`"


def mutants_of(path: str) -> list[Mutant]:
    """Return every mutant of a module."""
    tree = ast.parse((ROOT / path).read_text())
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for ordinal, (function, before, after, line) in enumerate(_changes(tree)):
        found.append(
            Mutant(path, function, before, after, seen[function, before, after], line, ordinal)
        )
        seen[function, before, after] += 1
    return found


def drawn(path: str, count: int, seed: int, left_out: frozenset[str]) -> list[Mutant]:
    """Return `count` mutants of a module drawn at random, the constants `left_out` unchanged.

    Each mutant's place in the draw is a hash of the seed and its own text, so that a change of one
    statement leaves the draw from the others as it was.
    """

    def place(mutant: Mutant) -> str:
        return hashlib.sha256(repr((seed, *mutant.key)).encode()).hexdigest()

    def is_drawn(mutant: Mutant) -> bool:
        return bool(mutant.function) or mutant.before.split(" =")[0] not in left_out

    return sorted(filter(is_drawn, mutants_of(path)), key=place)[:count]


@dataclass(frozen=True)
class _Site:
    """A node, where it hangs, and what it is part of."""

    parent: ast.AST
    field: str
    index: int | None
    function: str
    signature: ast.FunctionDef | None
    statement: ast.stmt | None

    @property
    def node(self) -> ast.AST:
        value = getattr(self.parent, self.field)
        return value if self.index is None else value[self.index]

    def put(self, node: ast.AST) -> None:
        """Hang another node in this place."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def _changes(tree: ast.Module) -> Iterator[tuple[str, str, str, int]]:
    """Yield (function, before, after, line) with the change in place in the tree until the next."""
    for site in list(_sites(tree, _Site(tree, "body", None, "", None, None))):
        original = site.node
        statement = site.statement or original
        before = _text(statement)
        for changed in _replacements(site):
            site.put(changed)
            after = _text(changed if statement is original else statement)
            if after != before:
                yield site.function, before, after, statement.lineno
            site.put(original)


def _sites(node: ast.AST, at: _Site) -> Iterator[_Site]:
    """Yield the place of every node below `node` that may be changed."""
    for field, value in ast.iter_fields(node):
        if field in SKIPPED_FIELDS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, SKIPPED) or _is_text(child):
                continue
            site = _Site(node, field, index, at.function, at.signature, at.statement)
            if isinstance(child, ast.stmt):
                site = replace(site, statement=child)
            yield site
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                if isinstance(child, ast.ClassDef) and _is_protocol(child):
                    continue
                name = f"{at.function}.{child.name}".lstrip(".")
                signature = child if isinstance(child, ast.FunctionDef) else None
                site = replace(site, function=name, signature=signature)
            yield from _sites(child, site)


def _is_text(node: ast.AST) -> bool:
    """Say whether the node is a docstring or another string on a line of its own."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def _text(node: ast.AST) -> str:
    """Return a statement on one line; of a compound one only the head."""
    if hasattr(node, "body") and isinstance(node.body, list):
        node = copy.copy(node)
        node.body, node.orelse = [ast.Pass()], []
        node.decorator_list = []
        return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]
    return " ".join(ast.unparse(node).split())


def _replacements(site: _Site) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""
    node = site.node
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield _with(node, op=ARITHMETIC[type(op)]())
        case ast.Compare(ops=[op]):
            for other in COMPARISON[type(op)]:
                yield _with(node, ops=[other()])
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield from (ast.Constant(value) for value in _other_numbers(node.value))
        case ast.Slice():
            yield from _shifted_slices(node)
        case ast.Call():
            yield from _other_calls(node)
    # A comparison and a `not` are turned round as such.
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(
        node.test, ast.Compare | ast.UnaryOp
    ):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Return):
        yield from _returned_arguments(node, site.signature)
    if _may_go(node, site):
        yield ast.Pass()


def _with(node: ast.AST, **changes: object) -> ast.AST:
    """Return a copy of a node with some fields changed."""
    changed = copy.copy(node)
    for field, value in changes.items():
        setattr(changed, field, value)
    return changed


def _other_numbers(value: float) -> list[float]:
    """Return 0 <-> 1, twice the number, and one more."""
    return {0: [value + 1], 1: [value - 1, 2 * value]}.get(value, [2 * value, value + 1])


def _shifted_slices(node: ast.Slice) -> Iterator[ast.AST]:
    """Yield the slice with one end moved by one; numbers are changed as numbers."""
    for end in ("lower", "upper"):
        bound = getattr(node, end)
        if bound is not None and not isinstance(bound, ast.Constant):
            yield _with(node, **{end: ast.BinOp(bound, ast.Add(), ast.Constant(1))})


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    """Yield the call of the opposite function, without the function, or with branches swapped."""
    function = node.func
    is_method = isinstance(function, ast.Attribute)
    name = function.attr if is_method else getattr(function, "id", "")
    if name in OTHER_FUNCTION:
        other = OTHER_FUNCTION[name]
        yield _with(node, func=_with(function, **{"attr" if is_method else "id": other}))
    if name in DROPPED:
        yield node.args[0] if node.args else function.value
    if name == "where" and len(node.args) == 3:
        yield _with(node, args=[node.args[0], node.args[2], node.args[1]])


def _returned_arguments(node: ast.Return, signature: ast.FunctionDef | None) -> Iterator[ast.AST]:
    """Yield the return of each argument of the type that the function returns."""
    if signature is None or signature.returns is None or node.value is None:
        return
    wanted = ast.unparse(signature.returns)
    for argument in signature.args.args:
        if argument.annotation is not None and ast.unparse(argument.annotation) == wanted:
            yield _with(node, value=ast.Name(argument.arg, ast.Load()))


def _may_go(node: ast.AST, site: _Site) -> bool:
    """Say whether a statement can be deleted without leaving a name unbound."""
    if site.signature is None or node is not site.statement:
        return False
    match node:
        case ast.Expr() | ast.AugAssign() | ast.Break() | ast.Continue() | ast.If():
            return True
        case ast.Assign(targets=targets):
            names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            return names <= _bound_before(site.signature, node.lineno)
    return False


def _bound_before(signature: ast.FunctionDef, line: int) -> set[str]:
    """Return the arguments of a function and the names it binds above a line."""
    arguments = signature.args
    names = {a.arg for a in (*arguments.args, *arguments.kwonlyargs, *arguments.posonlyargs)}
    for node in ast.walk(signature):
        stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if stored and node.lineno < line:
            names.add(node.id)
    return names
