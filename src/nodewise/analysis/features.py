r"""The evidence of the features in a node's context for its predicted class, by W_v and by W.

The layer that acts on the features turns a unit of feature i in a message into the column w_i of
its matrix. Let d be the gradient of the centered logit of the predicted class (that logit minus
the mean of all), summed over the rows that this layer gives: the direction in which the hidden rows
around the node speak for the class. The *evidence* of feature i is

.. math::
    \mathrm{global}_i = d \cdot w_i, \qquad \mathrm{local}_i = d \cdot (a_i w_i + b_i \mathbf{1})

with the same d in both, so that they differ by what localization does to the weights alone, and
nothing else. Positive evidence speaks for the predicted class, negative against it. With several
heads, the sum over heads is taken.

In a stack between linear ends the first layer acts on hidden units. Evidence of these is multiplied
by the matrix of the front layer (the activation in between is left out), which gives the evidence
of features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nodewise.analysis.layer_view import LayerView, total_and_count
from nodewise.analysis.local_weights import LocalWeights
from nodewise.models.classifier import Classifier
from nodewise.models.linear_ends import LinearEnds
from nodewise.nn.dense import Dense
from nodewise.nn.levels import LEVELS, with_levels


@dataclass(frozen=True)
class Feature:
    """A feature that occurs in a node's context.

    Attributes:
        name: Its name.
        global_evidence: What a unit of it says for the predicted class to the global weights.
        local_evidence: What it says to the node's own weights.
        value: Its mean over C_v, normalized as the model takes it.
        members: In how many members of C_v it occurs.
    """

    name: str
    global_evidence: float
    local_evidence: float
    value: float
    members: int

    @property
    def change(self) -> str:
        """What localization does: "flipped" (the sign), "up" or "down" (the size), or "same"."""
        before, after = self.global_evidence, self.local_evidence
        if before * after < 0:
            return "flipped"
        if before == after:
            return "same"
        return "up" if abs(after) > abs(before) else "down"

    @property
    def effect(self) -> float:
        """What localization adds to the evidence, for the value that the feature has here."""
        return (self.local_evidence - self.global_evidence) * self.value

    def to_dict(self) -> dict[str, Any]:
        """Its JSON form."""
        return {
            "name": self.name,
            "global": self.global_evidence,
            "local": self.local_evidence,
            "change": self.change,
            "effect": self.effect,
            "value": self.value,
            "members": self.members,
        }


def features_of(
    opened: LayerView, local: LocalWeights | None, node: int, predicted: int
) -> list[Feature]:
    """The features that occur in C_v, those that localization changes most first.

    Args:
        opened: The model and the graph.
        local: The local weights; None where nothing is localized at nodes.
        node: The node's number.
        predicted: Its predicted class.
    """
    before, after = evidence(opened, local, node, predicted)
    members = opened.context(node)
    total, count = total_and_count(opened.subject.x, members)
    value = total / max(1, len(members))
    size = (after - before) * value
    order = sorted(
        count.nonzero().view(-1).tolist(),
        key=lambda i: (-abs(float(size[i])), -abs(float(after[i] * value[i]))),
    )
    names = opened.subject.feature_names
    numbers = [column.tolist() for column in (before, after, value, count)]
    return [Feature(names[i], *(column[i] for column in numbers)) for i in order]


def evidence(
    opened: LayerView, local: LocalWeights | None, node: int, predicted: int
) -> tuple[Tensor, Tensor]:
    """The evidence of each feature for a class by W and by W_v, shape (features,) each."""
    model = opened.subject.layered
    weight = _first_weight(model)
    direction = _per_head(class_direction(opened, node, predicted), weight, model)
    products = torch.einsum("ho,hoi->hi", direction, weight)
    before = products.sum(0)
    after = before
    if local is not None:
        a, b = local.of_node(node)
        after = before + (products * a + direction.sum(1, keepdim=True) * b).sum(0)
    return _through_front(before, model.ends), _through_front(after, model.ends)


def class_direction(opened: LayerView, node: int, predicted: int) -> Tensor:
    """d: the gradient of a class's centered logit, summed over the rows of the first layer.

    Args:
        opened: The model and the graph.
        node: The node whose logit it is.
        predicted: The class.
    """
    twin = with_levels(opened.subject.layered, LEVELS)
    first = [*twin.convs, *twin.roots][0]
    nudges: list[Tensor] = []

    def nudge(layer: Any, inputs: Any, output: Any) -> Any:
        rows = output[0] if isinstance(output, tuple) else output
        nudges.append(rows.new_zeros(rows.size(1), requires_grad=True))
        return (rows + nudges[0], *output[1:]) if isinstance(output, tuple) else rows + nudges[0]

    first.register_forward_hook(nudge)  # of the twin alone
    inputs, row = opened.field(node)
    with torch.enable_grad():
        logits = twin(*inputs)[row]
        (direction,) = torch.autograd.grad(logits[predicted] - logits.mean(), nudges)
    return direction.detach()


def _first_weight(model: Classifier) -> Tensor:
    """The matrix that acts on the features, or on what the front makes of them: (H, out, in)."""
    layer = [*model.layers, *model.roots][0]
    weight: Tensor = layer.weight.detach()
    return weight[None] if isinstance(layer, Dense) else weight


def _per_head(direction: Tensor, weight: Tensor, model: Classifier) -> Tensor:
    """The direction of each head's messages, shape (H, out)."""
    heads, out, _ = weight.shape
    if direction.numel() == heads * out:
        return direction.view(heads, out)
    return (direction / heads).expand(heads, out)  # heads are averaged


def _through_front(of_hidden: Tensor, ends: LinearEnds | None) -> Tensor:
    return of_hidden if ends is None else of_hidden @ ends.front.linear.weight.detach()
