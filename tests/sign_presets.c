static char help[] = "The presets of SignMuon and its kin: what they set, and that they take steps.\n\n";

#include "parameters.h"
#include "muon_common.h"

typedef struct {
  const char            *name;
  MuonSignDirection      direction;
  PetscInt               steps; /* of the polar factor, 0 where there is none */
  MuonPolarNormalization normalization;
  PetscReal              clip, momentum, rate; /* the latter two -1 where they are the library's */
} Preset;

static const Preset Presets[] = {
  {"signmuon", MUON_SIGN_DIRECTION_POLAR, 7, MUON_POLAR_NORMALIZATION_FROBENIUS, 0, -1, -1},
  {"signmuon-1step", MUON_SIGN_DIRECTION_POLAR, 1, MUON_POLAR_NORMALIZATION_SPECTRAL, 1, -1, (PetscReal)1e-3},
  {"signadam", MUON_SIGN_DIRECTION_ADAM, 0, MUON_POLAR_NORMALIZATION_FROBENIUS, 0, (PetscReal)0.9, -1},
  {"signsgd", MUON_SIGN_DIRECTION_GRADIENT, 0, MUON_POLAR_NORMALIZATION_FROBENIUS, 0, 0, -1},
};
enum {
  FIRST  = 1, /* of the problem's layers, a matrix, */
  FROZEN = 2, /* and one that does not move */
  GAIN   = 5, /* and one that does not vote */
  STEPS  = 3
};

static PetscErrorCode CheckSet(const Preset *preset, Problem *p)
{
  MuonSignDirection direction;
  MuonClipLayers    clipped;
  MuonType          type;
  MuonLMOType       norm;
  PetscReal         clip, momentum, rate, own[2];
  PetscBool         sign, spectral;
  MuonLMO           lmo;
  Muon              untouched;

  PetscFunctionBegin;
  PetscCall(MuonCreate(PETSC_COMM_SELF, &untouched));
  PetscCall(GetReal((PetscObject)untouched, "muon_momentum", &own[0]));
  PetscCall(MuonGetLearningRate(untouched, &own[1]));
  PetscCall(MuonDestroy(&untouched));
  PetscCall(MuonGetType(p->muon, &type));
  PetscCall(PetscStrcmp(type, MUONSIGN, &sign));
  PetscCall(MuonSignGetDirection(p->muon, &direction));
  PetscCall(GetReal((PetscObject)p->muon, "muon_clip", &clip));
  PetscCall(GetEnum((PetscObject)p->muon, "muon_clip_layers", MuonClipLayersTypes, (int *)&clipped));
  PetscCall(GetReal((PetscObject)p->muon, "muon_momentum", &momentum));
  PetscCall(MuonGetLearningRate(p->muon, &rate));
  PetscCall(MuonLayerGetLMO(p->layer[FIRST], &lmo));
  PetscCall(MuonLMOGetType(lmo, &norm));
  PetscCall(PetscStrcmp(norm, MUONLMOSPECTRAL, &spectral));
  PetscCheck(sign && direction == preset->direction && spectral, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: type %s, direction %s, norm %s", preset->name, type, MuonSignDirections[direction], norm);
  PetscCheck(clip == preset->clip && (clip == 0 || clipped == MUON_CLIP_ALL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: clip %g of %s", preset->name, (double)clip, MuonClipLayersTypes[clipped]);
  PetscCheck(momentum == (preset->momentum < 0 ? own[0] : preset->momentum) && rate == (preset->rate < 0 ? own[1] : preset->rate), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: momentum %g, rate %g", preset->name, (double)momentum, (double)rate);
  if (preset->steps > 0) {
    MuonPolarType method;
    MuonPolar     polar;
    PetscBool     iterates, cubic, same;
    char          steps[16], coefficients[32], normalization[32], iterations[16];

    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarGetType(polar, &method));
    PetscCall(PetscStrcmp(method, MUONPOLARNEWTONSCHULZ, &iterates));
    PetscCall(MuonObjectGetParameter((PetscObject)polar, "lmo_polar_steps", steps, sizeof(steps)));
    PetscCall(MuonObjectGetParameter((PetscObject)polar, "lmo_polar_coefficients", coefficients, sizeof(coefficients)));
    PetscCall(PetscStrcmp(coefficients, MUONPOLARCOEFFICIENTSCUBIC, &cubic));
    PetscCall(MuonObjectGetParameter((PetscObject)polar, "lmo_polar_normalization", normalization, sizeof(normalization)));
    PetscCall(PetscStrcmp(normalization, MuonPolarNormalizations[preset->normalization], &same));
    PetscCall(MuonObjectGetParameter((PetscObject)polar, "lmo_polar_power_iterations", iterations, sizeof(iterations)));
    PetscCheck(iterates && atoi(steps) == preset->steps && cubic && same && (preset->normalization != MUON_POLAR_NORMALIZATION_SPECTRAL || atoi(iterations) == 2), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: %s, %s steps, coefficients %s, normalization %s, %s power iterations", preset->name, method, steps, coefficients, normalization, iterations);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Every entry that votes moves in every step by the rate, up or down, without decay: after STEPS of them by
   an odd number of rates
*/
static PetscErrorCode CheckSteps(const Preset *preset, Problem *p)
{
  PetscReal           rate;
  PetscScalar         before[NLAYERS][64], *w;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MuonGetLearningRate(p->muon, &rate));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscCall(ProblemGetArray(p, l, PETSC_FALSE, &w));
    PetscCall(PetscArraycpy(before[l], w, Shapes[l].m * Shapes[l].n));
  }
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscCall(MuonStep(p->muon));
    PetscCall(MuonGetConvergedReason(p->muon, &reason));
    PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, step %" PetscInt_FMT ": %s", preset->name, s, MuonConvergedReasons[reason]);
  }
  for (PetscInt l = 0; l < GAIN; l++) {
    if (l == FROZEN) continue;
    PetscCall(ProblemGetArray(p, l, PETSC_FALSE, &w));
    for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) {
      const PetscReal moved = PetscAbsScalar(w[e] - before[l][e]) / rate;

      /* Weights of at most one, rounded in each step */
      PetscCheck(PetscMin(PetscAbsReal(moved - 1), PetscAbsReal(moved - 3)) <= STEPS * 2 * PETSC_MACHINE_EPSILON / rate, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of %s moved by %g rates", preset->name, e, Shapes[l].name,
                 (double)moved);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Presets); k++) {
    Problem p;

    PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, &p));
    PetscCall(MuonSetPreset(p.muon, Presets[k].name));
    PetscCall(CheckSet(&Presets[k], &p));
    PetscCall(CheckSteps(&Presets[k], &p));
    PetscCall(ProblemDestroy(&p));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    output_file: output/kernels_ok.out

TEST*/
