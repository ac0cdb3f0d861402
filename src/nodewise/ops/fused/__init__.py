"""CPU kernels in Numba, imported at the first call: importing Numba takes half a second."""
