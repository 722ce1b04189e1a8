#include "../muonexchangepackets.h" /*I "petscmuonexchange.h" I*/
#include <petscmuon/private/muonpolarimpl.h>

PetscClassId      MUONEXCHANGE_CLASSID;
PetscLogEvent     MUON_Exchange;
PetscFunctionList MuonExchangeList              = NULL;
PetscBool         MuonExchangeRegisterAllCalled = PETSC_FALSE;

const char *const MuonExchangeModes[]       = {"reduce", "allreduce", "gather", "MuonExchangeMode", "MUON_EXCHANGE_MODE_", NULL};
const char *const MuonExchangeAssignments[] = {"lpt", "roundrobin", "bucketed", "MuonExchangeAssignment", "MUON_EXCHANGE_ASSIGNMENT_", NULL};

/*
   The legal ways up by their first letters, the default first: of arrays that can be summed, of other
   messages, and of votes. A row for each MuonExchangeOwnership, then one for where every worker owns.
   MuonExchangeSetMode() prints the same table.
*/
static const char *const MuonExchangeLegal[4][3] = {{"rag", "g", "g"}, {"rg", "g", "gr"}, {"", "", "g"}, {"ag", "g", "ga"}};

static const char *MuonExchangeGetLegal_Private(MuonExchange exchange, PetscBool summable)
{
  return MuonExchangeLegal[exchange->everywhere == PETSC_TRUE ? 3 : (int)exchange->ownership][exchange->votes == PETSC_TRUE ? 2 : (summable == PETSC_TRUE ? 0 : 1)];
}

/*@C
  MuonExchangeRegister - Adds a type of `MuonExchange`

  Not Collective; No Fortran Support

  Input Parameters:
+ name     - name of the new type
- function - routine that makes a `MuonExchange` one of this type

  Level: advanced

.seealso: `MuonExchange`, `MuonExchangeSetType()`, `MuonExchangeRegisterAll()`
@*/
PetscErrorCode MuonExchangeRegister(const char name[], PetscErrorCode (*function)(MuonExchange))
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonExchangeList, name, function));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeCreate - Creates an exchange of messages between workers and servers

  Collective

  Input Parameter:
. comm - the communicator across workers: it has one rank of each worker, and the servers are among them

  Output Parameter:
. exchange - the new exchange

  Level: intermediate

  Note:
  Messages travel on a duplicate of `comm` that the exchange owns.

.seealso: `MuonExchange`, `MuonExchangeSetType()`, `MuonExchangeSetItems()`, `MuonExchangeDestroy()`
@*/
PetscErrorCode MuonExchangeCreate(MPI_Comm comm, MuonExchange *exchange)
{
  MuonExchange ex;

  PetscFunctionBegin;
  PetscAssertPointer(exchange, 2);
  *exchange = NULL;
  PetscCall(MuonExchangeInitializePackage());
  PetscCall(PetscHeaderCreate(ex, MUONEXCHANGE_CLASSID, "MuonExchange", "Exchange of messages", "MuonExchange", comm, MuonExchangeDestroy, MuonExchangeView));
  PetscCall(MuonObjectRegister_Private((PetscObject)ex));
  ex->mode       = MUON_EXCHANGE_MODE_REDUCE;
  ex->assignment = MUON_EXCHANGE_ASSIGNMENT_LPT;
  PetscCall(MuonExchangeLinkCreate_Private(comm, &ex->link));
  ex->nworkers = ex->link->transport.size;
  ex->worker   = ex->link->transport.rank;
  *exchange    = ex;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetType - Chooses who owns which layer

  Logically Collective

  Input Parameters:
+ exchange - the exchange
- type     - `MUONEXCHANGELAYERWISE`, `MUONEXCHANGESTAR`, `MUONEXCHANGEREPLICATED`, `MUONEXCHANGEROWS` or `MUONEXCHANGERANGE`

  Options Database Key:
. -muon_exchange_type (star|replicated|layerwise|rows|range) - sets the type

  Level: intermediate

  Note:
  The default is layerwise; of votes (`MUONSIGN`) it is range, and replicated where there are no more than two
  workers.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeGetType()`, `MuonExchangeRegister()`
@*/
PetscErrorCode MuonExchangeSetType(MuonExchange exchange, MuonExchangeType type)
{
  PetscErrorCode (*create)(MuonExchange);
  char      known[256];
  PetscBool match;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)exchange, type, &match));
  if (match == PETSC_TRUE) {
    exchange->typeset = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscFunctionListFind(MuonExchangeList, type, &create));
  PetscCall(MuonListNames_Private(MuonExchangeList, sizeof(known), known));
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown type %s of MuonExchange, option -%smuon_exchange_type: expected one of %s", type,
             ((PetscObject)exchange)->prefix != NULL ? ((PetscObject)exchange)->prefix : "", known);
  PetscTryTypeMethod(exchange, destroy);
  PetscCall(PetscMemzero(exchange->ops, sizeof(struct _MuonExchangeOps)));
  exchange->typeset      = PETSC_TRUE;
  exchange->everywhere   = PETSC_FALSE;
  exchange->rowwise      = PETSC_FALSE;
  exchange->ownership    = MUON_EXCHANGE_OWNERSHIP_LAYERS;
  exchange->moderesolved = PETSC_FALSE;
  exchange->setupcalled  = PETSC_FALSE;
  PetscCall(PetscObjectChangeTypeName((PetscObject)exchange, type));
  PetscCall((*create)(exchange));
  PetscCall(PetscObjectStateIncrease((PetscObject)exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeGetType - Gets the type of an exchange

  Not Collective

  Input Parameter:
. exchange - the exchange

  Output Parameter:
. type - its type, `NULL` where none was set yet

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`
@*/
PetscErrorCode MuonExchangeGetType(MuonExchange exchange, MuonExchangeType *type)
{
  PetscFunctionBegin;
  MuonGet(exchange, MUONEXCHANGE_CLASSID, type, ((PetscObject)exchange)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetOptionsPrefix - Sets the prefix of an exchange's options

  Logically Collective

  Input Parameters:
+ exchange - the exchange
- prefix   - what precedes every option's name, without a leading hyphen

  Level: advanced

.seealso: `MuonExchange`, `MuonExchangeGetOptionsPrefix()`, `MuonExchangeSetFromOptions()`
@*/
PetscErrorCode MuonExchangeSetOptionsPrefix(MuonExchange exchange, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)exchange, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeGetOptionsPrefix - Gets the prefix of an exchange's options

  Not Collective

  Input Parameter:
. exchange - the exchange

  Output Parameter:
. prefix - the prefix, owned by the exchange

  Level: advanced

.seealso: `MuonExchange`, `MuonExchangeSetOptionsPrefix()`
@*/
PetscErrorCode MuonExchangeGetOptionsPrefix(MuonExchange exchange, const char *prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscAssertPointer(prefix, 2);
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)exchange, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeSetDefaultType_Private(MuonExchange exchange)
{
  const MuonExchangeType votes = exchange->nworkers > 2 ? MUONEXCHANGERANGE : MUONEXCHANGEREPLICATED;

  PetscFunctionBegin;
  if (exchange->typeset == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeSetType(exchange, exchange->votes == PETSC_TRUE ? votes : MUONEXCHANGELAYERWISE));
  exchange->typeset = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSetVotes(MuonExchange exchange, PetscBool votes)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  exchange->votes        = votes;
  exchange->moderesolved = PETSC_FALSE;
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranges are cut at whole words, so that no more is padded than where one worker has all */
PetscErrorCode MuonExchangeCutVotes(MuonExchange exchange, PetscInt n, const PetscInt64 start[], PetscInt *items, PetscInt64 *cut[])
{
  const PetscInt64 entries = start[n], words = (entries + 63) / 64;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  *items = n;
  if (exchange->everywhere == PETSC_TRUE || exchange->ownership == MUON_EXCHANGE_OWNERSHIP_ONE) *items = 1;
  else if (exchange->ownership == MUON_EXCHANGE_OWNERSHIP_RANGES) *items = exchange->nworkers;
  PetscCall(PetscMalloc1(*items + 1, cut));
  for (PetscInt i = 0; i <= *items; i++) {
    if (exchange->everywhere == PETSC_FALSE && exchange->ownership == MUON_EXCHANGE_OWNERSHIP_LAYERS) (*cut)[i] = start[i];
    else (*cut)[i] = PetscMin(64 * (words / *items * i + words % *items * i / *items), entries);
  }
  (*cut)[*items] = entries;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetFromOptions - Sets an exchange from the options database

  Collective

  Input Parameter:
. exchange - the exchange

  Options Database Keys:
+ -muon_exchange_type (star|replicated|layerwise|rows|range) - who owns which layer, see `MuonExchangeSetType()`
. -muon_exchange_mode (reduce|allreduce|gather)              - how the contributions go up, see `MuonExchangeSetMode()`
- -muon_exchange_assignment (lpt|roundrobin|bucketed)        - how owners are chosen, see `MuonExchangeSetAssignment()`

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeSetType()`, `MuonExchangeSetMode()`, `MuonExchangeSetAssignment()`, `MuonExchangeSetOptionsPrefix()`
@*/
PetscErrorCode MuonExchangeSetFromOptions(MuonExchange exchange)
{
  MuonExchangeMode       mode;
  MuonExchangeAssignment assignment;
  const char            *type;
  char                   name[256];
  PetscBool              flg;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  assignment = exchange->assignment;
  type       = ((PetscObject)exchange)->type_name;
  PetscObjectOptionsBegin((PetscObject)exchange);
  PetscCall(PetscOptionsFList("-muon_exchange_type", "Who owns which layer", "MuonExchangeSetType", MuonExchangeList, type, name, sizeof(name), &flg));
  if (flg == PETSC_TRUE) PetscCall(MuonExchangeSetType(exchange, name));
  PetscCall(PetscOptionsEnum("-muon_exchange_mode", "How the contributions go up", "MuonExchangeSetMode", MuonExchangeModes, (PetscEnum)mode, (PetscEnum *)&mode, &flg));
  if (flg == PETSC_TRUE) PetscCall(MuonExchangeSetMode(exchange, mode));
  PetscCall(PetscOptionsEnum("-muon_exchange_assignment", "How owners are chosen", "MuonExchangeSetAssignment", MuonExchangeAssignments, (PetscEnum)assignment, (PetscEnum *)&assignment, &flg));
  if (flg == PETSC_TRUE) PetscCall(MuonExchangeSetAssignment(exchange, assignment));
  PetscTryTypeMethod(exchange, setfromoptions, PetscOptionsObject);
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)exchange, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetMode - Chooses how the workers' contributions reach the servers

  Logically Collective

  Input Parameters:
+ exchange - the exchange
- mode     - `MUON_EXCHANGE_MODE_REDUCE`, `MUON_EXCHANGE_MODE_ALLREDUCE` or `MUON_EXCHANGE_MODE_GATHER`

  Options Database Key:
. -muon_exchange_mode (reduce|allreduce|gather) - sets the mode, chosen by the messages by default

  Level: intermediate

  Notes:
  What is legal, and what is the default where no mode was set\:
.vb
                  messages that can be summed (identity)    other messages    votes (MUONSIGN)
                  reduce     allreduce   gather             gather            reduce   allreduce   gather
    star          default    -           legal              default           legal    -           default
    layerwise     default    legal       legal              default           -        -           default
    replicated    -          default     legal              default           -        legal       default
    range         -          -           -                  -                 -        -           default
.ve
  Any other combination is an error on all ranks when the optimizer is set up.

  With allreduce every worker gets the sums and keeps room for them, also where one alone uses it: this is how
  Muon was distributed first, and costs more than reduce for nothing.

  With gather, sums run in the order of the workers, and the same run gives the same bits whoever owns a
  layer. The sums of MPI in the other modes agree to rounding.

.seealso: `MuonExchange`, `MuonExchangeMode`, `MuonExchangeGetMode()`, `MuonExchangeSetType()`
@*/
PetscErrorCode MuonExchangeSetMode(MuonExchange exchange, MuonExchangeMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(exchange, mode, 2);
  PetscCheck((int)mode >= 0 && (int)mode <= (int)MUON_EXCHANGE_MODE_GATHER, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_OUTOFRANGE, "Unknown mode %d of MuonExchange: a MuonExchangeMode was expected", (int)mode);
  if (exchange->modeset == PETSC_FALSE || exchange->mode != mode) exchange->setupcalled = PETSC_FALSE;
  exchange->mode    = mode;
  exchange->modeset = PETSC_TRUE;
  PetscCall(PetscObjectStateIncrease((PetscObject)exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeGetMode - Gets how the workers' contributions reach the servers

  Not Collective

  Input Parameter:
. exchange - the exchange

  Output Parameter:
. mode - the mode that was set, else the default for the messages of the optimizer, or for messages that can be summed where no optimizer has used the exchange yet

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeMode`, `MuonExchangeSetMode()`
@*/
PetscErrorCode MuonExchangeGetMode(MuonExchange exchange, MuonExchangeMode *mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscAssertPointer(mode, 2);
  if (exchange->modeset == PETSC_TRUE || exchange->moderesolved == PETSC_TRUE) *mode = exchange->mode;
  else {
    const char own = MuonExchangeGetLegal_Private(exchange, PETSC_TRUE)[0];

    *mode = own == 'r' ? MUON_EXCHANGE_MODE_REDUCE : (own == 'a' ? MUON_EXCHANGE_MODE_ALLREDUCE : MUON_EXCHANGE_MODE_GATHER);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeIsLegal(MuonExchange exchange, MuonExchangeMode mode, PetscBool *legal)
{
  PetscFunctionBegin;
  *legal = strchr(MuonExchangeGetLegal_Private(exchange, PETSC_TRUE), MuonExchangeModes[mode][0]) != NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MuonExchangeResolveMode - The mode of a step: the one that was set, if it is legal, else the default

   summable says whether the messages are plain arrays that can be added; culprit names, for the error, what
   makes them something else
*/
PetscErrorCode MuonExchangeResolveMode(MuonExchange exchange, PetscBool summable, const char culprit[], MuonExchangeMode *mode)
{
  const MPI_Comm  comm        = PetscObjectComm((PetscObject)exchange);
  const PetscBool sums        = exchange->votes == PETSC_TRUE ? PETSC_TRUE : summable; /* votes have no culprit */
  char            choices[64] = "";
  const char     *prefix, *type, *name, *legal, *others;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  legal  = MuonExchangeGetLegal_Private(exchange, summable);
  others = MuonExchangeGetLegal_Private(exchange, PETSC_TRUE); /* of messages that can be summed: what is legal there has another culprit */
  prefix = ((PetscObject)exchange)->prefix != NULL ? ((PetscObject)exchange)->prefix : "";
  type   = ((PetscObject)exchange)->type_name;
  PetscCheck(legal[0] != '\0', comm, PETSC_ERR_SUP, "Option -%smuon_exchange_type %s is for votes, -%smuon_type sign; anything else needs star, layerwise or replicated", prefix, type, prefix);
  if (exchange->modeset == PETSC_FALSE) {
    exchange->moderesolved = PETSC_FALSE; /* the default of the type */
    PetscCall(MuonExchangeGetMode(exchange, &exchange->mode));
    if (sums == PETSC_FALSE) exchange->mode = MUON_EXCHANGE_MODE_GATHER;
    exchange->moderesolved = PETSC_TRUE;
  }
  name = MuonExchangeModes[exchange->mode];
  for (int m = 0; m < 3; m++) {
    if (strchr(legal, MuonExchangeModes[m][0]) == NULL) continue;
    if (choices[0] != '\0') PetscCall(PetscStrlcat(choices, ", ", sizeof(choices)));
    PetscCall(PetscStrlcat(choices, MuonExchangeModes[m], sizeof(choices)));
  }
  PetscCheck(strchr(legal, name[0]) != NULL || strchr(others, name[0]) != NULL, comm, PETSC_ERR_SUP, "Option -%smuon_exchange_mode %s is not legal with -%smuon_exchange_type %s%s; legal here: %s", prefix, name, prefix, type,
             exchange->votes == PETSC_TRUE ? " for votes" : "", choices);
  PetscCheck(strchr(legal, name[0]) != NULL, comm, PETSC_ERR_SUP, "Option -%smuon_exchange_mode %s needs messages that can be summed, and those of %s cannot; legal with -%smuon_exchange_type %s: %s", prefix, name,
             culprit != NULL ? culprit : "this optimizer", prefix, type, choices);
  *mode = exchange->mode;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetAssignment - Chooses how the owners of the layers are found

  Logically Collective

  Input Parameters:
+ exchange   - the exchange
- assignment - `MUON_EXCHANGE_ASSIGNMENT_LPT` (the default), `MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN` or `MUON_EXCHANGE_ASSIGNMENT_BUCKETED`

  Options Database Key:
. -muon_exchange_assignment (lpt|roundrobin|bucketed) - sets the assignment, lpt by default

  Level: intermediate

  Notes:
  It matters to `MUONEXCHANGELAYERWISE` only. With lpt the most loaded of J workers has at most 4/3 - 1/(3J)
  times the load that it has in the best of all assignments.

  Bucketed is what collectives of one size need, as in the AlgoPerf submission of that name: the items of each
  shape (`MuonExchangeSetItemShapes()`) are dealt to the workers one after the other, beginning at worker 0,
  and a bucket whose number of items is no multiple of the number of workers is padded to one. Nothing is sent
  for a pad here; the view counts how many places pads take.

.seealso: `MuonExchange`, `MuonExchangeAssignment`, `MuonExchangeGetAssignment()`, `MuonExchangeSetItemShapes()`, `MUONEXCHANGELAYERWISE`
@*/
PetscErrorCode MuonExchangeSetAssignment(MuonExchange exchange, MuonExchangeAssignment assignment)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(exchange, assignment, 2);
  PetscCheck((int)assignment >= 0 && (int)assignment <= (int)MUON_EXCHANGE_ASSIGNMENT_BUCKETED, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_OUTOFRANGE, "Unknown assignment %d of MuonExchange: a MuonExchangeAssignment was expected",
             (int)assignment);
  if (assignment != exchange->assignment) exchange->setupcalled = PETSC_FALSE;
  exchange->assignment = assignment;
  PetscCall(PetscObjectStateIncrease((PetscObject)exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeGetAssignment - Gets how the owners of the layers are found

  Not Collective

  Input Parameter:
. exchange - the exchange

  Output Parameter:
. assignment - the assignment

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeAssignment`, `MuonExchangeSetAssignment()`
@*/
PetscErrorCode MuonExchangeGetAssignment(MuonExchange exchange, MuonExchangeAssignment *assignment)
{
  PetscFunctionBegin;
  MuonGet(exchange, MUONEXCHANGE_CLASSID, assignment, exchange->assignment);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeGetWorkers - Gets how many workers exchange messages, and which one of them calls

  Not Collective

  Input Parameter:
. exchange - the exchange

  Output Parameters:
+ nworkers - how many workers there are
- worker   - the calling one, in [0, nworkers)

  Level: advanced

.seealso: `MuonExchange`, `MuonExchangeCreate()`, `MuonExchangeGetOwner()`
@*/
PetscErrorCode MuonExchangeGetWorkers(MuonExchange exchange, PetscMPIInt *nworkers, PetscMPIInt *worker)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  *nworkers = exchange->nworkers;
  *worker   = exchange->worker;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonExchangeSetItems - Says what is served: pieces of layers, with what it costs to serve them

  Logically Collective

  Input Parameters:
+ exchange - the exchange
. n        - number of pieces, zero is legal
. names    - name of each piece, which settles ties
. cost     - work of serving each piece, in any unit
- bytes    - size of each piece, which settles ties of the cost

  Level: intermediate

  Note:
  A piece is all of a layer, or rows or a range of its entries, that travels and is served as one; the other
  functions call it an item. All workers pass the same: each finds the owners by itself, without a message.

.seealso: `MuonExchange`, `MuonExchangeSetUp()`, `MuonExchangeGetOwner()`, `MuonExchangeSetAssignment()`
@*/
PetscErrorCode MuonExchangeSetItems(MuonExchange exchange, PetscInt n, const char *const names[], const PetscLogDouble cost[], const PetscLogDouble bytes[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscValidLogicalCollectiveInt(exchange, n, 2);
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_OUTOFRANGE, "Number of items %" PetscInt_FMT " of MuonExchange must not be negative", n);
  for (PetscInt i = 0; i < n; i++) {
    PetscCheck(cost[i] >= 0 && cost[i] <= PETSC_MAX_REAL, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_OUTOFRANGE, "Cost %g of item %s of MuonExchange must be finite and not negative", (double)cost[i], names[i]);
    PetscCheck(bytes[i] >= 0 && bytes[i] <= PETSC_MAX_REAL, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_OUTOFRANGE, "Size %g of item %s of MuonExchange must be finite and not negative", (double)bytes[i], names[i]);
  }
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(PetscStrNArrayallocpy(n, names, &exchange->names));
  PetscCall(PetscMalloc2(n, &exchange->cost, n, &exchange->bytes));
  PetscCall(PetscArraycpy(exchange->cost, cost, n));
  PetscCall(PetscArraycpy(exchange->bytes, bytes, n));
  exchange->nitems   = n;
  exchange->itemsset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetItemShapes - Says which items have the same shape, for `MUON_EXCHANGE_ASSIGNMENT_BUCKETED`

  Logically Collective

  Input Parameters:
+ exchange - the exchange, after `MuonExchangeSetItems()`
. rows     - rows of each item, as many as there are items
- columns  - columns of each item

  Level: advanced

  Note:
  Without it items of the same cost and size are taken for items of the same shape.

.seealso: `MuonExchange`, `MuonExchangeSetItems()`, `MuonExchangeSetAssignment()`
@*/
PetscErrorCode MuonExchangeSetItemShapes(MuonExchange exchange, const PetscInt rows[], const PetscInt columns[])
{
  const PetscInt n = exchange->nitems;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCheck(exchange->itemsset == PETSC_TRUE, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ORDER, "MuonExchangeSetItems() must be called before MuonExchangeSetItemShapes()");
  PetscCall(PetscFree2(exchange->rows, exchange->columns));
  PetscCall(PetscMalloc2(n, &exchange->rows, n, &exchange->columns));
  PetscCall(PetscArraycpy(exchange->rows, rows, n));
  PetscCall(PetscArraycpy(exchange->columns, columns, n));
  exchange->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeSetUp - Finds the owners of the items

  Logically Collective

  Input Parameter:
. exchange - the exchange

  Level: intermediate

  Note:
  Nothing is sent: every worker finds the same owners.

.seealso: `MuonExchange`, `MuonExchangeSetItems()`, `MuonExchangeGetOwner()`, `MuonExchangeOwns()`
@*/
PetscErrorCode MuonExchangeSetUp(MuonExchange exchange)
{
  const PetscMPIInt nworkers = exchange->nworkers;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  if (exchange->setupcalled == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(exchange->itemsset == PETSC_TRUE, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ORDER, "MuonExchangeSetItems() must be called before MuonExchangeSetUp()");
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  PetscCall(MuonExchangeFreeStaged_Private(exchange));
  PetscCall(PetscFree4(exchange->owner, exchange->order, exchange->place, exchange->first));
  PetscCall(PetscMalloc4(exchange->nitems, &exchange->owner, exchange->nitems, &exchange->order, exchange->nitems, &exchange->place, nworkers + 1, &exchange->first));
  for (PetscInt i = 0; i < exchange->nitems; i++) exchange->owner[i] = exchange->worker;
  if (exchange->everywhere == PETSC_FALSE) PetscUseTypeMethod(exchange, assign);
  /* Counting sort by owner, which keeps the items of an owner in the order of their numbers */
  PetscCall(PetscArrayzero(exchange->first, nworkers + 1));
  for (PetscInt i = 0; i < exchange->nitems; i++) {
    PetscCheck(exchange->owner[i] >= 0 && exchange->owner[i] < nworkers, PetscObjectComm((PetscObject)exchange), PETSC_ERR_PLIB, "Type %s gives item %s to worker %d of %d", ((PetscObject)exchange)->type_name, exchange->names[i], exchange->owner[i],
               nworkers);
    exchange->first[exchange->owner[i] + 1]++;
  }
  for (PetscMPIInt w = 0; w < nworkers; w++) exchange->first[w + 1] += exchange->first[w];
  for (PetscInt i = 0; i < exchange->nitems; i++) {
    exchange->place[i]                  = exchange->first[exchange->owner[i]]++;
    exchange->order[exchange->place[i]] = i;
  }
  for (PetscMPIInt w = nworkers; w > 0; w--) exchange->first[w] = exchange->first[w - 1];
  exchange->first[0] = 0;
  PetscCall(MuonExchangeLinkSetUp_Private(exchange));
  exchange->setupcalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeGetOwner - Gets the worker that owns an item

  Not Collective

  Input Parameters:
+ exchange - the exchange, after `MuonExchangeSetUp()`
- item     - number of the item

  Output Parameter:
. owner - the worker, -1 where every worker owns the item

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeOwns()`, `MuonExchangeSetItems()`
@*/
PetscErrorCode MuonExchangeGetOwner(MuonExchange exchange, PetscInt item, PetscMPIInt *owner)
{
  PetscFunctionBegin;
  PetscAssertPointer(owner, 3);
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_FALSE));
  *owner = exchange->everywhere == PETSC_TRUE ? -1 : exchange->owner[item];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeOwns - Says whether this worker owns an item

  Not Collective

  Input Parameters:
+ exchange - the exchange, after `MuonExchangeSetUp()`
- item     - number of the item

  Output Parameter:
. owns - whether the calling worker owns it

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeGetOwner()`
@*/
PetscErrorCode MuonExchangeOwns(MuonExchange exchange, PetscInt item, PetscBool *owns)
{
  PetscMPIInt owner;

  PetscFunctionBegin;
  PetscAssertPointer(owns, 3);
  PetscCall(MuonExchangeGetOwner(exchange, item, &owner));
  *owns = owner < 0 || owner == exchange->worker ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The items in the order in which a worker puts them, and a server those that it owns */
PetscErrorCode MuonExchangeGetOrder(MuonExchange exchange, const PetscInt *order[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCheck(exchange->setupcalled == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "MuonExchangeSetUp() must be called first");
  *order = exchange->order;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeView - Prints an exchange

  Collective

  Input Parameters:
+ exchange - the exchange
- viewer   - the viewer, `NULL` for the standard output

  Level: intermediate

.seealso: `MuonExchange`, `PetscViewer`, `MuonExchangeCreate()`
@*/
PetscErrorCode MuonExchangeView(MuonExchange exchange, PetscViewer viewer)
{
  PetscBool        isascii, isstring;
  PetscLogDouble   memory;
  double           local, sum, largest;
  MuonExchangeMode mode;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  if (viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)exchange), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(exchange, 1, viewer, 2);
  PetscCall(MuonViewerCheck((PetscObject)exchange, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &isstring));
  if (isascii == PETSC_TRUE) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)exchange, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(MuonExchangeGetMode(exchange, &mode));
    PetscCall(PetscViewerASCIIPrintf(viewer, "mode: %s%s\n", MuonExchangeModes[mode], exchange->modeset == PETSC_TRUE ? "" : " (default)"));
    PetscTryTypeMethod(exchange, view, viewer);
    PetscCall(MuonExchangeGetMemory(exchange, &memory));
    local = (double)memory;
    PetscCallMPI(MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)exchange)));
    PetscCallMPI(MPI_Allreduce(&local, &largest, 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)exchange)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "buffers of messages: %.0f bytes, %.0f of them on the rank that has most\n", sum, largest));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (isstring == PETSC_TRUE) PetscCall(PetscViewerStringSPrintf(viewer, " MuonExchangeType: %s", ((PetscObject)exchange)->type_name != NULL ? ((PetscObject)exchange)->type_name : "not set"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeReset - Frees the items and the buffers of an exchange, and keeps its options

  Collective

  Input Parameter:
. exchange - the exchange

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeSetItems()`, `MuonExchangeDestroy()`
@*/
PetscErrorCode MuonExchangeReset(MuonExchange exchange)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonExchangeLinkReset_Private(exchange->link));
  PetscCall(MuonExchangeFreeStaged_Private(exchange));
  PetscCall(PetscFree4(exchange->owner, exchange->order, exchange->place, exchange->first));
  PetscCall(PetscFree2(exchange->cost, exchange->bytes));
  PetscCall(PetscFree2(exchange->rows, exchange->columns));
  PetscCall(PetscStrNArrayDestroy(exchange->nitems, &exchange->names));
  exchange->nitems      = 0;
  exchange->itemsset    = PETSC_FALSE;
  exchange->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonExchangeDestroy - Destroys an exchange

  Collective

  Input Parameter:
. exchange - the exchange

  Level: intermediate

.seealso: `MuonExchange`, `MuonExchangeCreate()`
@*/
PetscErrorCode MuonExchangeDestroy(MuonExchange *exchange)
{
  PetscFunctionBegin;
  if (*exchange == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(*exchange, MUONEXCHANGE_CLASSID, 1);
  if (--((PetscObject)*exchange)->refct > 0) {
    *exchange = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonExchangeReset(*exchange));
  PetscTryTypeMethod(*exchange, destroy);
  PetscCall(MuonExchangeLinkDestroy_Private(&(*exchange)->link));
  PetscCall(MuonObjectUnregister_Private((PetscObject)*exchange));
  PetscCall(PetscHeaderDestroy(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}
