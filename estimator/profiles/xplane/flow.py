"""What becomes of arrays in a program of XLA: which instructions compute with one, and which instruction made it.

A loop, a fusion, a call and a branch hand arrays to the computations that they call, and back. Copies and changes of
form are still the same array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from estimator.profiles.xplane.fusions import BY_ELEMENT, DEEPEST

SAME = (*BY_ELEMENT, "copy-start", "copy-done", "optimization-barrier", "reduce-precision")
WHOLE = -1  # stands for the place of a result that is no tuple
LOOP, BRANCH = "while", "conditional"
MOVES = ("concatenate", "slice", "dynamic-slice", "broadcast", "pad", "reverse")  # whose results hold the same numbers
MOST = 10_000  # values that are followed; damaged dumps may have more


class Value(NamedTuple):
    """The result of an instruction, or what is at one place of it where it is a tuple."""

    instruction: int
    place: int = WHOLE


class Flow:
    """The instructions of all computations of a program, and who takes the result of each."""

    def __init__(self, module: Any) -> None:
        computations = list(module.computations)
        self.instructions = {computation.id: list(computation.instructions) for computation in computations}
        self.by_id = {i.id: i for instructions in self.instructions.values() for i in instructions}
        self.roots = {computation.id: computation.root_id for computation in computations}
        self.parameters = {
            (computation.id, i.parameter_number): i.id
            for computation in computations
            for i in computation.instructions
            if i.opcode == "parameter"
        }
        self.home = {i.id: computation.id for computation in computations for i in computation.instructions}
        self.users: dict[int, list[tuple[Any, int]]] = {}
        self.callers: dict[int, list[Any]] = {}
        for instruction in self.by_id.values():
            for place, operand in enumerate(instruction.operand_ids):
                self.users.setdefault(operand, []).append((instruction, place))
            for called in instruction.called_computation_ids:
                self.callers.setdefault(called, []).append(instruction)

    def uses(self, value: Value) -> set[str]:
        """The names, in the framework's program, of the instructions that compute with a value.

        Where XLA made an instruction itself, which has no name, those that compute with its result count.
        """
        names, seen, waiting = set[str](), {value}, [value]
        while waiting and len(seen) < MOST:
            taken = self.takers(waiting.pop())
            names.update(each.metadata.op_name for each in taken)
            onwards = {Value(each.id) for each in taken if each.opcode in MOVES or not each.metadata.op_name} - seen
            seen |= onwards
            waiting += onwards
        return names - {""}

    def takers(self, value: Value) -> list[Any]:
        """The instructions that compute with a value."""
        takers: list[Any] = []
        seen, waiting = {value}, [value]
        while waiting and len(seen) < MOST:
            for following in self._after(waiting.pop()):
                if not isinstance(following, Value):
                    takers.append(following)
                elif following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return takers

    def makers(self, value: Value, within: int | None = None) -> list[Value]:
        """The values of the instructions that made a value: several where there are branches.

        What a computation takes counts as made by it, where it is the one ``within`` which makers are looked for.
        """
        made: list[Value] = []
        seen, waiting = {value}, [value]
        while waiting and len(seen) < MOST:
            current = waiting.pop()
            is_taken = self.is_parameter(current) and self.home[current.instruction] == within
            before = [] if is_taken else self._before(current)
            made += [] if before else [current]
            waiting += [each for each in before if each not in seen]
            seen.update(before)
        return made

    def name(self, value: Value) -> str:
        """The name of a value's instruction in the framework's program."""
        return str(self.by_id[value.instruction].metadata.op_name)

    def is_parameter(self, value: Value) -> bool:
        """Whether a value is one that its computation takes."""
        return bool(self.by_id[value.instruction].opcode == "parameter")

    def operands(self, value: Value) -> list[Value]:
        """The operands of a value's instruction that have its sizes."""
        instruction = self.by_id[value.instruction]
        sizes, operands = list(instruction.shape.dimensions), [self.by_id.get(i) for i in instruction.operand_ids]
        return [Value(each.id) for each in operands if each is not None and list(each.shape.dimensions) == sizes]

    def outermost(self, value: Value) -> int:
        """The computation of a value's instruction, or that of the fusion or the call around it."""
        home = int(self.home[value.instruction])
        for _ in range(DEEPEST):
            callers = self.callers.get(home, [])
            if len(callers) != 1 or callers[0].opcode not in ("fusion", "call"):
                break
            home = int(self.home[callers[0].id])
        return home

    def called(self, computation: int) -> set[int]:
        """The computations that the instructions of a computation call, and those that these call."""
        called: set[int] = set()
        waiting = [computation]
        while waiting:
            home = waiting.pop()
            inner = {each for i in self.instructions[home] for each in i.called_computation_ids} - called
            called |= inner
            waiting += [each for each in inner if each in self.instructions]
        return called

    def _after(self, value: Value) -> Iterator[Any]:
        """Yield the values that a value becomes, and the instructions that compute with it."""
        for user, place in self.users.get(value.instruction, ()):
            if user.opcode == "get-tuple-element":
                if value.place in (WHOLE, user.tuple_index):
                    yield Value(user.id)
            elif user.opcode == "tuple":
                yield Value(user.id, place)
            elif user.opcode in SAME:
                yield Value(user.id, value.place)
            elif called := self._called(user, place):
                yield from (Value(inner, value.place) for inner in called)
            else:
                yield user
        home = self.home[value.instruction]
        if self.roots[home] == value.instruction:
            for caller in self.callers.get(home, ()):
                if not _computes_by_element(caller):
                    yield Value(caller.id, value.place)
                if caller.opcode == LOOP and (home, 0) in self.parameters:
                    yield Value(self.parameters[home, 0], value.place)

    def _called(self, user: Any, place: int) -> list[int]:
        """The parameters that an operand of an instruction becomes in the computations that this calls."""
        if _computes_by_element(user):
            return []
        if user.opcode == BRANCH:
            pairs = [(each, 0) for each in user.called_computation_ids[place - 1 : place] if place]
        else:
            pairs = [(each, place) for each in user.called_computation_ids]
        return [self.parameters[pair] for pair in pairs if pair in self.parameters]

    def _before(self, value: Value) -> list[Value]:
        """The values that a value was; none where its instruction made it."""
        instruction = self.by_id[value.instruction]
        operands = [operand for operand in instruction.operand_ids if operand in self.by_id]
        if instruction.opcode == "get-tuple-element":
            return [Value(operands[0], instruction.tuple_index)] if operands else []
        if instruction.opcode == "tuple":
            return [Value(operands[value.place])] if 0 <= value.place < len(operands) else []
        if instruction.opcode in SAME:
            return [Value(operands[0], value.place)] if operands else []
        if instruction.opcode == "parameter":
            return [Value(before, value.place) for before in self._arguments(instruction)]
        if _computes_by_element(instruction):
            return []
        called = list(instruction.called_computation_ids)[: 1 if instruction.opcode == LOOP else None]
        return [Value(self.roots[each], value.place) for each in called if self.roots.get(each) in self.by_id]

    def _arguments(self, parameter: Any) -> Iterator[int]:
        """Yield the operands of callers that a parameter of a computation is; none for the program's own."""
        home = self.home[parameter.id]
        for caller in self.callers.get(home, ()):
            place = parameter.parameter_number
            if caller.opcode == BRANCH:
                place = 1 + list(caller.called_computation_ids).index(home)
            if place < len(caller.operand_ids) and caller.operand_ids[place] in self.by_id:
                yield caller.operand_ids[place]


def _computes_by_element(instruction: Any) -> bool:
    """Whether the computation that an instruction calls is that of pairs of elements, as the sum of a reduction."""
    return instruction.opcode not in ("fusion", "call", LOOP, BRANCH, "async-start", "async-done")
