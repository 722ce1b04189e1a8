#include "../muonexchangepackets.h" /*I "petscmuonexchange.h" I*/

/*
   The legal ways up by their first letters, the default first: of arrays that can be summed, of other
   messages, and of bits that are counted. A row for each MuonExchangeOwnership, then one for exchanges in which every worker owns all.
   MuonExchangeSetMode() prints the same table.
*/
static const char *const MuonExchangeLegal[4][3] = {{"rag", "g", "g"}, {"rg", "g", "gr"}, {"", "", "g"}, {"ag", "g", "ga"}};

static const char *MuonExchangeGetLegal_Private(MuonExchange exchange, PetscBool summable)
{
  return MuonExchangeLegal[exchange->everywhere ? 3 : (int)exchange->ownership][exchange->counted ? 2 : (summable ? 0 : 1)];
}

PetscErrorCode MuonExchangeCreate(MPI_Comm comm, MuonExchange *exchange)
{
  MuonExchange ex;

  PetscFunctionBegin;
  PetscAssertPointer(exchange, 2);
  *exchange = NULL;
  PetscCall(MuonExchangeInitializePackage());
  PetscCall(PetscHeaderCreate(ex, MUONEXCHANGE_CLASSID, "MuonExchange", "Exchange of messages", "MuonExchange", comm, MuonExchangeDestroy, MuonExchangeView));
  PetscCall(MuonParametersCreate((PetscObject)ex));
  PetscCall(PetscNew(&ex->link));
  PetscCallMPI(MPI_Comm_dup(comm, &ex->link->comm));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportInit(&ex->link->transport, ex->link->comm)));
  ex->summable = PETSC_TRUE;
  ex->nworkers = ex->link->transport.size;
  ex->worker   = ex->link->transport.rank;
  *exchange    = ex;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetType - Sets the type of an exchange, which determines the owners of layers

  Logically Collective

  Input Parameters:
+ exchange - the exchange
- type     - `MUONEXCHANGELAYERWISE`, `MUONEXCHANGESTAR`, `MUONEXCHANGEREPLICATED`, `MUONEXCHANGEROWS` or `MUONEXCHANGERANGE`

  Options Database Key:
. -muon_exchange_type (star|replicated|layerwise|rows|range) - sets the type

  Level: intermediate

  Note:
  The default is layerwise. For bits that are counted (`MUONSIGN`) it is range, or replicated with at most two workers.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeGetType()`, `MuonExchangeRegister()`
@*/
PetscErrorCode MuonExchangeSetType(MuonExchange exchange, MuonExchangeType type)
{
  MuonParameterTypeFn *create;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(MuonParametersFindType((PetscObject)exchange, type, &create));
  exchange->typeset = PETSC_TRUE;
  if (create == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscTryTypeMethod(exchange, destroy);
  exchange->setupcalled = PETSC_FALSE;
  exchange->summable    = PETSC_TRUE;
  PetscCall(MuonParametersChangeType((PetscObject)exchange, type, create));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeGetType - Gets the type of an exchange

  Not Collective

  Input Parameter:
. exchange - the exchange

  Output Parameter:
. type - its type, `NULL` if none was set yet

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`
@*/
PetscErrorCode MuonExchangeGetType(MuonExchange exchange, MuonExchangeType *type)
{
  PetscFunctionBegin;
  MuonGet(exchange, MUONEXCHANGE_CLASSID, type, ((PetscObject)exchange)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSetDefaultType_Private(MuonExchange exchange)
{
  const MuonExchangeType counted = exchange->nworkers > 2 ? MUONEXCHANGERANGE : MUONEXCHANGEREPLICATED;

  PetscFunctionBegin;
  if (exchange->typeset) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeSetType(exchange, exchange->counted ? counted : MUONEXCHANGELAYERWISE));
  exchange->typeset = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSetCounted(MuonExchange exchange, PetscBool counted)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  exchange->counted  = counted;
  exchange->summable = PETSC_TRUE;
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetFromOptions - Sets an exchange from the options database

  Collective

  Input Parameter:
. exchange - the exchange

  Options Database Keys:
+ -muon_exchange_type (star|replicated|layerwise|rows|range) - owners of layers, see `MuonExchangeSetType()`
. -muon_exchange_mode (reduce|allreduce|gather)              - how contributions are sent up, see `MuonExchangeSetMode()`
- -muon_exchange_assignment (lpt|roundrobin|bucketed)        - how owners are chosen, see `MuonExchangeAssignment`; lpt by default

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeSetType()`, `MuonExchangeSetMode()`
@*/
PetscErrorCode MuonExchangeSetFromOptions(MuonExchange exchange)
{
  char      name[256];
  PetscBool flg;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  PetscObjectOptionsBegin((PetscObject)exchange);
  PetscCall(PetscOptionsFList("-muon_exchange_type", "Owners of layers", "MuonExchangeSetType", MuonExchangeList, ((PetscObject)exchange)->type_name, name, sizeof(name), &flg));
  if (flg) PetscCall(MuonExchangeSetType(exchange, name));
  PetscCall(MuonParametersSetFromOptions((PetscObject)exchange, PetscOptionsObject));
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)exchange, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetMode - Sets how the workers' contributions reach the servers

  Logically Collective

  Input Parameters:
+ exchange - the exchange
- mode     - `MUON_EXCHANGE_MODE_REDUCE`, `MUON_EXCHANGE_MODE_ALLREDUCE` or `MUON_EXCHANGE_MODE_GATHER`

  Options Database Key:
. -muon_exchange_mode (reduce|allreduce|gather) - sets the mode, which by default depends on the messages

  Level: intermediate

  Notes:
  These are the legal modes and the defaults\:
.vb
                  messages that can be summed (identity)    other messages    bits (MUONSIGN)
                  reduce     allreduce   gather             gather            reduce   allreduce   gather
    star          default    -           legal              default           legal    -           default
    layerwise     default    legal       legal              default           -        -           default
    replicated    -          default     legal              default           -        legal       default
    range         -          -           -                  -                 -        -           default
.ve
  Any other combination is an error of `MuonSetUp()` on all ranks.

  With allreduce every worker gets the sums and needs memory for them, even if only one uses them. The first
  distributed Muon did this. It costs more than reduce without a benefit.

  With gather, sums are computed in the order of the workers, so that a run gives the same bits for any owners. The
  sums of MPI in the other modes agree up to rounding.

.seealso: `MuonExchange`, `MuonExchangeMode`, `MuonExchangeGetMode()`, `MuonExchangeSetType()`
@*/
PetscErrorCode MuonExchangeSetMode(MuonExchange exchange, MuonExchangeMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonParametersAssign((PetscObject)exchange, "mode", (double)mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeGetMode - Gets how the workers' contributions reach the servers

  Not Collective

  Input Parameter:
. exchange - the exchange

  Output Parameter:
. mode - the mode that was set, otherwise the default for the messages of the optimizer; before `MuonSetUp()` that for messages that can be summed

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeMode`, `MuonExchangeSetMode()`
@*/
PetscErrorCode MuonExchangeGetMode(MuonExchange exchange, MuonExchangeMode *mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscAssertPointer(mode, 2);
  *mode = exchange->mode;
  for (int m = 0; m < 3 && MuonParametersIsSet((PetscObject)exchange, "mode") == PETSC_FALSE; m++) {
    if (MuonExchangeModes[m][0] == MuonExchangeGetLegal_Private(exchange, exchange->summable)[0]) *mode = (MuonExchangeMode)m;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MuonExchangeIsLegal(MuonExchange exchange, MuonExchangeMode mode)
{
  return strchr(MuonExchangeGetLegal_Private(exchange, PETSC_TRUE), MuonExchangeModes[mode][0]) != NULL ? PETSC_TRUE : PETSC_FALSE;
}

/*
   MuonExchangeResolveMode - The mode of a step: the one that was set, if it is legal, else the default

   summable says whether the messages are uncompressed arrays that can be added; culprit names, for the error, what
   makes them something else
*/
PetscErrorCode MuonExchangeResolveMode(MuonExchange exchange, PetscBool summable, const char culprit[], MuonExchangeMode *mode)
{
  const MPI_Comm comm        = PetscObjectComm((PetscObject)exchange);
  char           choices[64] = "";
  const char    *prefix      = ((PetscObject)exchange)->prefix != NULL ? ((PetscObject)exchange)->prefix : "", *type, *legal;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  legal = MuonExchangeGetLegal_Private(exchange, summable);
  type  = ((PetscObject)exchange)->type_name;
  PetscCheck(legal[0] != '\0', comm, PETSC_ERR_SUP, "Option -%smuon_exchange_type %s is for bits that are counted, -%smuon_type sign; anything else needs star, layerwise or replicated", prefix, type, prefix);
  exchange->summable = summable;
  PetscCall(MuonExchangeGetMode(exchange, mode));
  PetscCall(MuonParametersPut((PetscObject)exchange, "mode", (double)*mode));
  if (strchr(legal, MuonExchangeModes[*mode][0]) != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (int m = 0; m < 3; m++) {
    if (strchr(legal, MuonExchangeModes[m][0]) == NULL) continue;
    if (choices[0] != '\0') PetscCall(PetscStrlcat(choices, ", ", sizeof(choices)));
    PetscCall(PetscStrlcat(choices, MuonExchangeModes[m], sizeof(choices)));
  }
  if (exchange->counted) culprit = "bits that are counted";
  else if (summable) culprit = "messages that can be summed";
  SETERRQ(comm, PETSC_ERR_SUP, "Option -%smuon_exchange_mode %s is not legal with -%smuon_exchange_type %s and %s; legal here: %s", prefix, MuonExchangeModes[*mode], prefix, type, culprit != NULL ? culprit : "these messages", choices);
}

/*@
  MuonExchangeView - Prints an exchange

  Collective

  Input Parameters:
+ exchange - the exchange
- viewer   - the viewer, `NULL` for the standard output

  Level: intermediate

.seealso: `MuonExchange`, `PetscViewer`, `MuonGetExchange()`
@*/
PetscErrorCode MuonExchangeView(MuonExchange exchange, PetscViewer viewer)
{
  PetscBool        isascii, isstring;
  PetscLogDouble   memory;
  double           local, sum, largest;
  MuonExchangeMode mode;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonViewBegin((PetscObject)exchange, &viewer, &isascii, &isstring));
  PetscCheckSameComm(exchange, 1, viewer, 2);
  if (isascii) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)exchange, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(MuonExchangeGetMode(exchange, &mode));
    PetscCall(PetscViewerASCIIPrintf(viewer, "mode: %s%s\n", MuonExchangeModes[mode], MuonParametersIsSet((PetscObject)exchange, "mode") ? "" : " (default)"));
    PetscTryTypeMethod(exchange, view, viewer);
    PetscCall(MuonExchangeGetMemory(exchange, &memory));
    local = (double)memory;
    PetscCallMPI(MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)exchange)));
    PetscCallMPI(MPI_Allreduce(&local, &largest, 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)exchange)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "buffers of messages: %.0f bytes, %.0f of them on the rank that has most\n", sum, largest));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (isstring) PetscCall(PetscViewerStringSPrintf(viewer, " MuonExchangeType: %s", ((PetscObject)exchange)->type_name != NULL ? ((PetscObject)exchange)->type_name : "not set"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeDestroy(MuonExchange *exchange)
{
  PetscFunctionBegin;
  MuonDestroyBegin(exchange, MUONEXCHANGE_CLASSID);
  PetscCall(MuonExchangeReset(*exchange));
  PetscTryTypeMethod(*exchange, destroy);
  PetscCall(MuonParametersDestroy((PetscObject)*exchange));
  MuonTransportFree(&(*exchange)->link->transport);
  PetscCallMPI(MPI_Comm_free(&(*exchange)->link->comm));
  PetscCall(PetscFree((*exchange)->link));
  PetscCall(PetscHeaderDestroy(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}
