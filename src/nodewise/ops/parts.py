"""Compile what only kernels call: to LLVM's language, and no further.

Numba turns every function into machine code by itself, although whoever calls it takes its
unfinished form, optimizes that once more, and makes machine code of it again. Parts of kernels are
never called by anybody else, so they are left unfinished, which spares a quarter of a first
compilation.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.typed_passes import NativeLowering


class _Unfinished(JITCodeLibrary):
    """Code to be linked into a kernel, which is then optimized as a whole."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)
class _MakeKnown(AnalysisPass):
    """Tell Numba where the code of a part is, for those that call it.

    Numba does so itself with what it has made executable, and knows functions by what Python would
    call. Here that is a builtin of its own, as Numba wants it, which raises if it is called.
    """

    _name = "nodewise_make_known"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        nothing: dict[object, object] = {}
        entry = nothing.__getitem__
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=entry)
        return False


class PartCompiler(CompilerBase):
    """Numba's own way of compiling, which ends before there is anything to run."""

    def define_pipelines(self) -> list[PassManager]:
        """The passes a part goes through."""
        state = self.state
        state.flags.no_compile = True
        state.library = _Unfinished(state.targetctx.codegen(), state.func_id.func_qualname)
        passes = DefaultPassBuilder.define_nopython_pipeline(state)
        passes.add_pass_after(_MakeKnown, NativeLowering)
        passes.finalize()
        return [passes]
