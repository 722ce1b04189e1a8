"""PetscMuon for Python: the Muon family of optimizers over MPI, on the memory of torch's and numpy's arrays.

    import petscmuon
    with petscmuon.Muon(options="-muon_type ef21 -ef21_compressor topk") as muon:
      layers = [muon.add_layer(name, p) for name, p in model.named_parameters()]
      for step in range(steps):
        loss = ...                                   # gradients of this rank's own data
        for layer in layers:
          layer.set_gradient(layer.tensor.grad)      # a new tensor after zero_grad()
        muon.step()

Nothing is copied: the tensors are what the steps change. The package is ctypes alone; the library is found by PETSCMUON_DIR, the prefix of an installation, else beside the package, else by pkg-config, else below PETSC_DIR.
"""

from ._library import VERSION as __version__, Diverged, Error, init, quiet, version
from ._muon import Layer, Muon, Traffic

__all__ = ["Diverged", "Error", "Layer", "Muon", "Traffic", "init", "quiet", "version"]
