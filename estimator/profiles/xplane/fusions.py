"""The arrays that a fusion of XLA reads and writes, by what it does with each operand.

It reads the slices of an operand that it only takes slices of, and writes the update of one that it updates in place
(xla/service/hlo_cost_analysis.cc, FusionParameterReadBytes and HandleDynamicUpdateSlice). A loop over the steps of a
sequence, or over layers, holds the arrays of all of them, and takes and updates a slice at each turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

TAKES_SLICES = ("dynamic-slice", "slice", "gather")
UPDATES = "dynamic-update-slice"
BY_ELEMENT = ("bitcast", "reshape", "copy", "convert", "transpose")  # computed for the elements that are used
IN_PLACE = object()  # stands for the shape of an operand that is only written
DEEPEST = 8  # chain of instructions that is followed; damaged dumps have circles


class Fusion:
    """The computation that a fusion calls."""

    def __init__(self, instructions: Sequence[Any], root_id: int) -> None:
        self.by_id = {i.id: i for i in instructions}
        self.parameters = {i.parameter_number: i for i in instructions if i.opcode == "parameter"}
        self.users: dict[int, list[Any]] = {}
        for user in instructions:
            for operand in user.operand_ids:
                self.users.setdefault(operand, []).append(user)
        self.root = root = self.by_id.get(root_id)
        results = [] if root is None else [root] if root.opcode != "tuple" else self._operands(root)
        self.results = [self._before(result) for result in results]

    def read(self, operands: Sequence[Any]) -> list[Any]:
        """The shapes that it reads of operands of these shapes."""
        read: list[Any] = []
        for number, shape in enumerate(operands):
            uses = list(self._uses(self.parameters[number])) if number in self.parameters else []
            read += [use for use in uses if use is not IN_PLACE] if uses and None not in uses else [shape]
        return read

    def written(self, results: Sequence[Any]) -> list[Any]:
        """The shapes that it writes of results of these shapes."""
        if len(results) != len(self.results):
            return list(results)
        updates = [self._operands(each)[1:2] if self._is_update(each) else [] for each in self.results]
        return [update[0].shape if update else shape for update, shape in zip(updates, results, strict=True)]

    def _uses(self, used: Any, depth: int = 0) -> Iterator[Any]:
        """Yield for each use the shape of the slice, IN_PLACE for an update, or None where all of it is used."""
        for user in self.users.get(used.id, ()):
            is_subject = used.id in user.operand_ids[:1] and used.id not in user.operand_ids[1:]
            if user.opcode in BY_ELEMENT and user.id in self.users and depth < DEEPEST:
                yield from self._uses(user, depth + 1)
            elif user.opcode in TAKES_SLICES and is_subject:
                yield user.shape
            else:
                yield IN_PLACE if is_subject and self._is_update(user) else None

    def _is_update(self, instruction: Any) -> bool:
        """Whether an instruction is a result that an operand of the fusion becomes by an update."""
        is_result = instruction.opcode == UPDATES and any(result is instruction for result in self.results)
        return is_result and any(self._before(each).opcode == "parameter" for each in self._operands(instruction)[:1])

    def _operands(self, instruction: Any) -> list[Any]:
        return [self.by_id[i] for i in instruction.operand_ids if i in self.by_id]

    def _before(self, result: Any) -> Any:
        """The instruction that a result is, without changes of its form."""
        for _ in range(DEEPEST):
            if result.opcode in BY_ELEMENT and (operands := self._operands(result)):
                result = operands[0]
        return result
