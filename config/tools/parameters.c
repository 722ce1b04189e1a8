/*
   Prints the tables of parameters of the library, a line each, for the manual's table of options: family, type,
   key, default, range or names, when it may change, help; separated by tabs.
*/
#include <petscmuon.h>
#include <petscmuon/private/muonparameter.h>

static PetscErrorCode PrintRow(const char family[], const char type[], const MuonParameter *row, void *ctx)
{
  char value[64] = "", range[1024] = "", least[64], most[64];

  PetscFunctionBeginUser;
  if (row->at == 0 && !(row->flags & MUON_PARAMETER_DATA)) PetscFunctionReturn(PETSC_SUCCESS); /* what selects a type */
  if (row->kind == MUON_PARAMETER_ENUM) {
    for (int k = 0; row->names[k + 2] != NULL; k++) { /* the type, the prefix and NULL stand behind the names */
      if (k > 0) PetscCall(PetscStrlcat(range, "|", sizeof(range)));
      PetscCall(PetscStrlcat(range, row->names[k], sizeof(range)));
    }
    if (row->value >= 0) PetscCall(PetscStrncpy(value, row->names[(int)row->value], sizeof(value)));
  } else if (row->kind == MUON_PARAMETER_BOOL) {
    PetscCall(PetscStrncpy(value, row->value != 0 ? "true" : "false", sizeof(value)));
    PetscCall(PetscStrncpy(range, "true|false", sizeof(range)));
  } else if (row->kind != MUON_PARAMETER_TEXT) {
    PetscCall(MuonNumberWrite(row->value, sizeof(value), value));
    PetscCall(MuonNumberWrite(row->least, sizeof(least), least));
    PetscCall(MuonNumberWrite(row->most, sizeof(most), most));
    if (row->most < MUON_UNBOUNDED) PetscCall(PetscSNPrintf(range, sizeof(range), "%s%s, %s%s", row->flags & MUON_PARAMETER_ABOVE ? "(" : "[", least, most, row->flags & MUON_PARAMETER_BELOW ? ")" : "]"));
    else if (row->least > -MUON_UNBOUNDED) PetscCall(PetscSNPrintf(range, sizeof(range), "%s %s", row->flags & MUON_PARAMETER_ABOVE ? "above" : "at least", least));
  }
  if ((row->flags & MUON_PARAMETER_AUTO) && row->value == (double)PETSC_DETERMINE) PetscCall(PetscStrncpy(value, "auto", sizeof(value)));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row->flags & MUON_PARAMETER_BARE ? "" : family, type, row->key, value, range, row->flags & MUON_PARAMETER_FIXED ? "before set-up" : "at any time", row->help));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MuonParametersForEach(PrintRow, NULL));
  PetscCall(PetscMuonFinalize());
  return 0;
}
