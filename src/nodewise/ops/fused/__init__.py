"""CPU kernels in Numba. Imported only when one is first needed: Numba takes half a second."""
