#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/

/*MC
  MUONDENSE - Muon without compression: mean gradient, momentum, a step inside a norm ball

  Level: beginner

  Notes:
  In step s, with g the mean of the workers' gradients at W, mu the weight of the old momentum and t^s =
  learning rate x schedule x scale x shape factor\:
.vb
  M becomes mu M + (1-mu) g           or in the style sgd, mu M + (1-dampening) g
  U      =  M                         or with a Nesterov term of g
  W becomes (1 - rate decay) W + t^s D,   D the point of the unit ball where <U,D> is least
.ve
  The owner of the layer keeps the momentum. The `MuonExchange` sums gradients and distributes weights\:
  `MUONEXCHANGEREPLICATED` with sums is data-parallel Muon, `MUONEXCHANGELAYERWISE` has an owner for each layer.

  Keller Jordan's Muon is `-muon_momentum 0.95 -muon_nesterov ema -muon_shape_factor kj`.

  References:
. * - K. Jordan, Y. Jin, V. Boza, J. You, F. Cesista, L. Newhouse, J. Bernstein, Muon\: An optimizer for hidden layers in neural networks, 2024

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONEF21`, `MuonSetMomentum()`, `MuonExchange`
M*/
static PetscErrorCode MuonCreate_Dense(Muon muon)
{
  PetscFunctionBegin;
  muon->ops->momentum_at = MUON_MOMENTUM_AT_SERVER;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode MuonRegister_Dense(void)
{
  PetscFunctionBegin;
  PetscCall(MuonRegister(MUONDENSE, MuonCreate_Dense, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
