/**
 * Runner `manage`, functions that send nothing: the connected minions, by verified contact (src/master/presence/presence.ts). Unlike Salt, which
 * compares addresses, it finds minions behind NAT. docs/compatibility.md, "Presence".
 */
import { openKeyDirectories } from "../../store/keys/keys.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, listArgument, parametersOf } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

async function connected(context: RunnerContext, args: ValueMap): Promise<string[]> {
  const subset = listArgument(args.get("subset"));
  const ids = [...(await masterOf(context).connected())].sort();
  return subset === undefined ? ids : ids.filter((id) => subset.includes(id));
}

async function present(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const ids = await connected(context, args);
  if (!isGivenTrue(args, "show_ip")) return ids;
  return new Map<string, Encodable>(ids.map((id) => [id, addressOf(context, id)]));
}

async function notPresent(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const subset = listArgument(args.get("subset"));
  const there = new Set(await connected(context, new Map()));
  const accepted = openKeyDirectories(context.config.pki_dir).list("accepted");
  return accepted.filter((id) => !there.has(id) && (subset === undefined || subset.includes(id)));
}

/** The address in the minion's grains, because ZeroMQ does not give a peer's address. Empty without one. */
function addressOf({ minions }: RunnerContext, id: string): string {
  const stored = minions?.get(id);
  const grains = stored === undefined ? undefined : decode(stored.grains);
  if (!(grains instanceof Map)) return "";
  for (const name of ["ipv4", "ipv6"]) {
    const addresses = grains.get(name);
    const outward = Array.isArray(addresses) ? addresses.map(String).find(isOutward) : undefined;
    if (outward !== undefined) return outward;
  }
  return "";
}

function isOutward(address: string): boolean {
  return !address.startsWith("127.") && address !== "::1";
}

const parameters = parametersOf("subset", "show_ip");
const listing = { parameters, doc: "Ids of the connected minions; sends nothing.", run: present };
const counterpart = {
  parameters,
  doc: "Ids of the accepted minions that are not connected; sends nothing.",
  run: notPresent,
};

export const presenceRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  ["manage.list_state", listing],
  ["manage.list_not_state", counterpart],
  ...["present", "joined", "allowed", "alived", "reaped"].flatMap((name): [string, RunnerFunction][] => [
    [`manage.${name}`, listing],
    [`manage.not_${name}`, counterpart],
  ]),
]);
