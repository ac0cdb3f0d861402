"""Both sides of the comparison compute the same."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from nodewise.bench import messages as bench


def captured_gradients(monkeypatch: pytest.MonkeyPatch, job: partial[None]) -> list[torch.Tensor]:
    """What `torch.autograd.grad` gave inside a job."""
    seen: list[torch.Tensor] = []
    whole = torch.autograd.grad

    def spy(*args, **kwargs):  # type: ignore[no-untyped-def]
        seen.extend(whole(*args, **kwargs))
        return seen

    with monkeypatch.context() as patch:
        patch.setattr(torch.autograd, "grad", spy)
        job()
    return seen


def test_both_sides_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = bench.Problem.of("toy", 1)
    jobs = [
        partial(bench.localized, problem, "fused", features=True),
        partial(bench.localized, problem, "factored", features=True),
        partial(bench.dense, problem, features=True),
    ]
    fused, factored, dense = (captured_gradients(monkeypatch, job) for job in jobs)
    for ours, theirs in zip(fused[:-1], dense[:-1], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3 * theirs.abs().max().item())
    # The dense side's gradient of x covers zeros too; ours has the entries that are there.
    torch.testing.assert_close(factored[-1], fused[-1], rtol=1e-3, atol=1e-2)
    entries = dense[-1][problem.x != 0]
    torch.testing.assert_close(
        entries, fused[-1], rtol=1e-3, atol=1e-3 * entries.abs().max().item()
    )
