from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core.event import Event, EventStatus

from nodewise.ops import compiling
from nodewise.ops.compiling import WhileCompiling


def event(status: EventStatus, module: str) -> Event:
    dispatcher = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    return Event("numba:compile", status, {"dispatcher": dispatcher})


def pairs(module: str) -> tuple[Event, Event]:
    return event(EventStatus.START, module), event(EventStatus.END, module)


def test_no_garbage_is_collected_until_the_last_part_of_a_kernel_is_compiled() -> None:
    watch, (start, end) = WhileCompiling(), pairs("nodewise.ops.fused.sums")
    collecting = []
    for one in (start, start, end, end):
        watch.notify(one)
        collecting.append(gc.isenabled())
    assert collecting == [False, False, False, True]


def test_who_had_switched_the_collector_off_finds_it_so() -> None:
    watch = WhileCompiling()
    gc.disable()
    try:
        for one in pairs("nodewise.ops.fused.sums"):
            watch.notify(one)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_others_compile_is_their_own_affair() -> None:
    watch = WhileCompiling()
    watch.notify(pairs("nodewise_friend.kernels")[0])
    assert gc.isenabled()


def test_a_line_is_for_those_who_wait_long(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[Any] = []

    class Timer:
        def __init__(self, seconds: float, job: Any) -> None:
            self.seconds, self.job, self.state = seconds, job, "made"
            timers.append(self)

        def start(self) -> None:
            self.state = "runs"

        def cancel(self) -> None:
            self.state = "cancelled"

    monkeypatch.setattr(compiling, "Timer", Timer)
    watch, (start, end) = WhileCompiling(), pairs("nodewise.ops.fused.sums")
    watch.notify(start)
    assert (timers[-1].seconds, timers[-1].state) == (2.0, "runs")
    watch.notify(end)
    assert timers[-1].state == "cancelled"
