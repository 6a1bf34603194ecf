/** The generator hosts of one bench: opens them before anything starts, and ends the run if one of them is lost. */
import { lookup } from "node:dns/promises";
import { SaltworksError } from "../../src/errors.ts";
import { isLoopback } from "../../src/python/ipaddress.ts";
import type { StormHost } from "../fleet/storm/host.ts";
import { type Address, addressText } from "./addresses.ts";
import { RemoteHost } from "./remote-host.ts";

/** What the command line says of agents. */
export type AgentsChoice = { readonly addresses: readonly Address[]; readonly key: Buffer };

export type Agents = {
  readonly hosts: readonly StormHost[];
  /** Aborted by the caller's signal, and when an agent is lost, whose error is the reason. */
  readonly signal: AbortSignal;
  /** @throws SaltworksError CHANNEL_CLOSED if an agent was lost, naming it */
  demandAll(): void;
  close(): Promise<void>;
};

/** @throws SaltworksError naming the agent: USAGE if it could not reach the master, and as `RemoteHost.open` */
export async function openAgents(
  { addresses, key }: AgentsChoice,
  o: { readonly version: string; readonly masterHost: string; readonly signal: AbortSignal },
): Promise<Agents> {
  await demandReachable(addresses, o.masterHost);
  const lost = new AbortController();
  const opening = addresses.map((address) => RemoteHost.open({ address, key, version: o.version, signal: o.signal }));
  const settled = await Promise.allSettled(opening);
  const hosts = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const close = async (): Promise<void> => {
    await Promise.all(hosts.map((host) => host.close()));
  };
  const refused = settled.find((each) => each.status === "rejected");
  if (refused !== undefined) {
    await close();
    throw refused.reason;
  }
  for (const host of hosts) host.onLost = (error) => lost.abort(error);
  const demandAll = (): void => lost.signal.throwIfAborted();
  return { hosts, signal: AbortSignal.any([o.signal, lost.signal]), demandAll, close };
}

/** A master that listens on loopback is out of reach for other hosts. */
async function demandReachable(addresses: readonly Address[], masterHost: string): Promise<void> {
  if (!isLoopback(await addressOf(masterHost))) return;
  for (const address of addresses) {
    if (isLoopback(await addressOf(address.host))) continue;
    const name = addressText(address);
    throw new SaltworksError(
      "USAGE",
      `the agent ${name} is on another address, and the master listens on ${masterHost} only: minions there cannot reach it`,
    );
  }
}

async function addressOf(host: string): Promise<string> {
  try {
    return (await lookup(host)).address;
  } catch (error) {
    throw new SaltworksError("USAGE", `there is no host ${host}: ${(error as NodeJS.ErrnoException).code}`);
  }
}
