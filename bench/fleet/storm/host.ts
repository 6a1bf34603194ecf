/** Where processes of a storm run: this machine, or one with an agent. Types only. */
import type { DescriptorNeed } from "../descriptors.ts";
import type { FromStormProcess, ToStormProcess } from "./messages.ts";

export type LinkEvents = {
  onMessage(message: FromStormProcess): void;
  /** The process could not be started, or ended unasked. */
  onFault(error: Error): void;
};

/** One process of a storm. */
export type StormLink = {
  /** Undefined for a process of another machine, and for one that did not start. */
  readonly processId: number | undefined;
  readonly hasEnded: Promise<void>;
  /** Ignored after the process has ended. */
  send(message: ToStormProcess): void;
  kill(): void;
};

/** A machine that generates load beside others, as results tell of it. */
export type HostFacts = {
  /** The name that the machine gives itself. */
  readonly host: string;
  readonly address: string;
  readonly cpu: string;
  readonly node: string;
};

export type StormHost = {
  /** Undefined for this machine. */
  readonly facts: HostFacts | undefined;
  /** Minions are spread over hosts by their cores. */
  readonly cores: number;
  /** The hard limit of descriptors of one process there. */
  readonly descriptorsMax: number;
  /** `offsetMs`: the host's clock minus ours, when it was last measured. */
  readonly clock: { readonly offsetMs: number; readonly uncertaintyMs: number; readonly roundTripMs: number };
  /** @throws SaltworksError TASK_TIMEOUT if the offset cannot be known well enough */
  measureClock(): Promise<void>;
  start(need: DescriptorNeed, events: LinkEvents): StormLink;
};

/** "gen2 (10.0.0.2:4530)"; undefined for this machine. */
export function hostName({ facts }: Pick<StormHost, "facts">): string | undefined {
  return facts && `${facts.host} (${facts.address})`;
}
