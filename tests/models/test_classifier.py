from __future__ import annotations

from shutil import which

import pytest
import torch
from torch import Tensor
from torch.nn import LayerNorm
from torch.nn.functional import elu, layer_norm, relu
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.nn import GCN

from nodewise.errors import InputError
from nodewise.models.classifier import LGAT, LGCN, LGIN, Classifier
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import DropRates
from nodewise.testing import (
    assert_field_equals_full_graph,
    assert_kernels_agree,
    assert_parameter_count,
    assert_renumbering_renumbers,
)

MODELS = {"LGCN": LGCN, "LGAT": LGAT, "LGIN": LGIN}


@pytest.fixture
def graph() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x = torch.randn(20, 6, dtype=torch.float64)
    return x * (x > 0), torch.randint(0, 20, (2, 40))


def model_of(name: str, **options: object) -> Classifier:
    torch.manual_seed(1)
    return MODELS[name](6, hidden_channels=4, out_channels=3, **options).double().eval()


@pytest.mark.parametrize(("model", "count"), [(LGCN, 103_584), (LGAT, 835_982), (LGIN, 126_624)])
def test_parameter_counts_of_the_paper_on_cora(model: type[Classifier], count: int) -> None:
    assert_parameter_count(model(1433, hidden_channels=8, out_channels=7), count)


@pytest.mark.parametrize("name", MODELS)
def test_widths_are_required(name: str) -> None:
    with pytest.raises(TypeError, match="hidden_channels"):
        MODELS[name](1433)
    with pytest.raises(TypeError, match="out_channels"):
        MODELS[name](1433, 8)


@pytest.mark.parametrize("count", [0, -2])
def test_a_stack_has_at_least_one_layer(count: int) -> None:
    with pytest.raises(InputError, match="num_layers: must be an integer of at least 1"):
        LGCN(5, 8, 3, num_layers=count)


@pytest.mark.parametrize("name", MODELS)
def test_laws(name: str, graph: tuple[Tensor, Tensor]) -> None:
    model = model_of(name)
    assert_kernels_agree(model, *graph)
    assert_renumbering_renumbers(model, *graph)


def test_localization_off_is_pygs_gcn(graph: tuple[Tensor, Tensor]) -> None:
    model = model_of("LGCN", node_level=False, edge_level=False)
    reference = GCN(6, 4, num_layers=2, out_channels=3, act=elu, bias=False).double().eval()
    for ours, theirs in zip(model.convs, reference.convs, strict=True):
        theirs.lin.weight.data = ours.weight.data[0]
    torch.testing.assert_close(model(*graph), reference(*graph))
    assert model.local_parameters() == []


def test_dense_and_sparse_features_train_alike(graph: tuple[Tensor, Tensor]) -> None:
    x, edge_index = graph
    losses = []
    for features in (x, x.to_sparse_csr()):
        model = model_of("LGCN")
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(5):
            optimizer.zero_grad()
            loss = model(features, edge_index).square().mean()
            loss.backward()
            optimizer.step()
        losses.append(loss)
    torch.testing.assert_close(*losses)


def test_two_training_runs_give_the_same_bits(graph: tuple[Tensor, Tensor]) -> None:
    x, edge_index = graph

    def train() -> Tensor:
        model = model_of("LGAT", drop_rates=DropRates(0.3, 0.3)).train()
        torch.manual_seed(7)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(5):
            optimizer.zero_grad()
            model(x, edge_index).square().mean().backward()
            optimizer.step()
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])

    assert torch.equal(train(), train())


@pytest.mark.parametrize("name", MODELS)
def test_act_is_applied_between_layers(name: str, graph: tuple[Tensor, Tensor]) -> None:
    model = model_of(name, act=relu)
    assert model.embed(*graph).min() == 0
    assert model_of(name).embed(*graph).min() < 0


def test_output_act_is_applied_to_logits(graph: tuple[Tensor, Tensor]) -> None:
    plain, bent = model_of("LGCN"), model_of("LGCN", output_act=elu)
    torch.testing.assert_close(bent(*graph), elu(plain(*graph)))


@pytest.mark.medium
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_torch_compile_agrees_forward_and_backward(
    graph: tuple[Tensor, Tensor], backend: str
) -> None:
    if backend == "inductor" and which("g++") is None:
        pytest.skip("torch's default compiler needs g++")
    x, edge_index = graph
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    model = model_of("LGCN")
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    results = []
    for forward in (model, compiled):
        out = forward(x, edge_index)
        results.append([out, *torch.autograd.grad(out.sin().sum(), model.parameters())])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.medium
def test_a_compiled_model_in_training_drops_the_same_entries(graph: tuple[Tensor, Tensor]) -> None:
    x, edge_index = graph
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    model = model_of("LGCN", dropout=0.5, drop_rates=DropRates(0.3, 0.3)).train()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    results = []
    for forward in (model, model, compiled):
        torch.manual_seed(6)
        out = forward(x, edge_index)
        results.append([out, *torch.autograd.grad(out.sin().sum(), model.parameters())])
    assert not torch.equal(model(x, edge_index), results[0][0])
    for other in results[1:]:
        for ours, expected in zip(other, results[0], strict=True):
            torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("name", MODELS)
def test_pygs_explainer_masks_act(name: str, graph: tuple[Tensor, Tensor]) -> None:
    x, edge_index = graph[0].float(), graph[1]
    model = model_of(name).float()
    explainer = Explainer(
        model,
        GNNExplainer(epochs=3),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "node",
            "return_type": "raw",
        },
    )
    explanation = explainer(x, edge_index, index=3)
    assert explanation.edge_mask.shape == (edge_index.size(1),)
    assert explanation.edge_mask.max() > 0


def test_masking_an_edge_changes_its_target_only(graph: tuple[Tensor, Tensor]) -> None:
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

    x, edge_index = graph
    model = model_of("LGCN", num_layers=1)
    whole = model(x, edge_index)
    edge = int((edge_index[0] != edge_index[1]).nonzero()[0])
    mask = torch.ones(edge_index.size(1), dtype=torch.float64)
    mask[edge] = 0
    set_masks(model, mask, edge_index, apply_sigmoid=False)
    masked = model(x, edge_index)
    clear_masks(model)
    changed = (masked - whole).abs().sum(1) > 1e-12
    assert changed.nonzero().view(-1).tolist() == [int(edge_index[1, edge])]
    torch.testing.assert_close(model(x, edge_index), whole)


def test_residuals_and_norms_are_those_written_out() -> None:
    torch.manual_seed(0)
    sizes = [(6, 4), (4, 4), (4, 3)]
    convs = [LocalizedConv(*size, node_level=False, edge_level=False) for size in sizes]
    model = Classifier(convs, act=relu, residual=True, norms=[LayerNorm(4), LayerNorm(4)]).double()
    edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
    x = torch.randn(5, 6, dtype=torch.float64)
    first = relu(layer_norm(convs[0](x, edges), (4,)))
    second = first + relu(layer_norm(convs[1](first, edges), (4,)))
    torch.testing.assert_close(model(x, edges), convs[2](second, edges))
    assert_field_equals_full_graph(model, x, edges, torch.tensor([3, 1]))
