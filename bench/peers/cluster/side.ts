/** One cluster of three members, each on a host of its own: ours or Salt's. */
import type { LocalClient } from "../../local-client.ts";
import type { Address } from "./minion.ts";

export type SideMember = {
  readonly address: Address;
  client(): LocalClient;
  /** Kills all processes of the member at once. */
  kill(): Promise<void>;
  /** Resolves when it answers requests. */
  restart(): Promise<void>;
  /** By the operator's command of this side. @throws SaltworksError if it is not accepted */
  acceptKey(id: string): Promise<void>;
  /** @throws SaltworksError if the member does not tell */
  acceptedKeys(): Promise<ReadonlySet<string>>;
  /** Stops or continues all processes of the member. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** Minions whose return to each job its job cache has. */
  returns(jids: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
};

export type SideCluster = {
  readonly members: readonly SideMember[];
  /** Starts of the whole cluster that did not give members that work together. */
  readonly failedStarts: number;
  close(): Promise<void>;
};

/** `open` starts a new cluster whose members know one another. Minions with `acceptedPrefix` are accepted when they come. */
export type Side = { readonly name: string; open(): Promise<SideCluster> };

/** Of a publish or an accepted key. Longer than either master waits for its own parts. */
export const answerLimitMs = 6_000;
/** Minions of the load. */
export const acceptedPrefix = "min";
/** Minions whose keys the operator accepts. */
export const sparePrefix = "spare";
/** A file below each member's directory: keys with these names are accepted at once. */
export const autosign = { name: "autosign", content: `${acceptedPrefix}*\n` } as const;
