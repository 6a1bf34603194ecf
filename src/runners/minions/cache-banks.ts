/**
 * Runner `cache`, its banks. `minions/ID` holds the master's data of a minion (keys `data` and `mine`); any other bank belongs to operators.
 */

import { resolve } from "node:path";
import { SaltworksError } from "../../errors.ts";
import { CacheBanks } from "../../store/cache-banks.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { ForgottenFacts, RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

const minionsBank = "minions";

/** @throws SaltworksError FUNCTION_FAILED if a restricted caller names another cache directory than the master's */
function banksOf(context: RunnerContext, args: ValueMap): CacheBanks {
  const { config, caller } = context;
  const cachedir = textArgument(args, "cachedir", config.cachedir);
  if (caller?.isRestricted === true && !isOwnDirectory(context, args))
    throw new SaltworksError("FUNCTION_FAILED", "only a user without restriction may name another cachedir", {});
  return new CacheBanks(cachedir);
}

function isOwnDirectory({ config }: RunnerContext, args: ValueMap): boolean {
  return resolve(textArgument(args, "cachedir", config.cachedir)) === resolve(config.cachedir);
}

/** The id of a minion's bank; empty for the bank of all minions. Undefined for other banks, and in other cache directories. */
function minionOf(context: RunnerContext, args: ValueMap): string | undefined {
  const bank = textArgument(args, "bank").replace(/\/+$/, "");
  if (!isOwnDirectory(context, args)) return undefined;
  if (bank === minionsBank) return "";
  return bank.startsWith(`${minionsBank}/`) ? bank.slice(minionsBank.length + 1) : undefined;
}

function list(context: RunnerContext, args: ValueMap): Encodable {
  const id = minionOf(context, args);
  if (id === undefined) return banksOf(context, args).list(textArgument(args, "bank"));
  const { minions } = context;
  if (id === "") return minions?.ids() ?? [];
  const keys = { data: minions?.get(id), mine: minions?.getMine(id) };
  return Object.entries(keys).flatMap(([key, stored]) => (stored === undefined ? [] : [key]));
}

function fetch(context: RunnerContext, args: ValueMap): Encodable {
  const id = minionOf(context, args);
  const key = textArgument(args, "key");
  if (id === undefined) {
    const stored = banksOf(context, args).fetch(textArgument(args, "bank"), key);
    return stored === undefined ? {} : decode(stored);
  }
  if (key === "mine") return decode(context.minions?.getMine(id) ?? encode({}, "bin"));
  const facts = key === "data" ? context.minions?.get(id) : undefined;
  const parts = Object.entries(facts ?? {}).map(([name, stored]): [string, Value] => [name, decode(stored)]);
  return new Map(parts.filter(([, part]) => part instanceof Map && part.size > 0));
}

function store(context: RunnerContext, args: ValueMap): Encodable {
  if (minionOf(context, args) !== undefined)
    throw new SaltworksError("FUNCTION_FAILED", "minions/ID holds data from minions, and cannot be written", {});
  const value = encode(args.get("data") ?? null, "bin");
  banksOf(context, args).store(textArgument(args, "bank"), textArgument(args, "key"), value);
  return null;
}

async function flush(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const id = minionOf(context, args);
  const key = (args.get("key") ?? null) === null ? undefined : textArgument(args, "key");
  if (id === undefined) return banksOf(context, args).flush(textArgument(args, "bank"), key);
  const ids = id === "" ? [...(context.minions?.ids() ?? [])] : [id];
  const isData = key === undefined || key === "data";
  const mine: ForgottenFacts["mine"] = key === undefined || key === "mine" ? "whole" : [];
  return (await masterOf(context).forget({ ids, hasGrains: isData, hasPillar: isData, mine })) > 0;
}

export const cacheBanksRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "cache.list",
    {
      parameters: parametersOf("bank!", "cachedir"),
      doc: "Keys of a bank, such as minions/ID or a bank of your own.",
      isOffline: true,
      shortName: "list_",
      run: list,
    },
  ],
  [
    "cache.fetch",
    {
      parameters: parametersOf("bank!", "key!", "cachedir"),
      doc: "The value of a key in a bank.",
      isOffline: true,
      run: fetch,
    },
  ],
  [
    "cache.store",
    {
      parameters: parametersOf("bank!", "key!", "data!", "cachedir"),
      doc: "Stores a value under a key in a bank of your own.",
      run: store,
    },
  ],
  [
    "cache.flush",
    {
      parameters: parametersOf("bank!", "key", "cachedir"),
      doc: "Removes a key from a bank, or a whole bank.",
      run: flush,
    },
  ],
]);
