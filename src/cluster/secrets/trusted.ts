/**
 * Which master gives a new cluster its key pair: one whose minions trust its key, if there is one. It says so while it waits for the cluster, and masters
 * without minions ask before they give theirs.
 */
import { setTimeout as pause } from "node:timers/promises";
import { headers, type NatsConnection, NoRespondersError, RequestError, type Subscription } from "@nats-io/nats-core";
import { clusterRequestMs } from "../../limits.ts";

function subjectOf(clusterId: string): string {
  return `sw.${clusterId}.trusted`;
}

/** Of question and answer, in a header. An answer of any version says that there is such a master, and its text names it. */
const version = 1;
const versionHeader = "Saltworks-Version";
/** A master tries again every half second to connect to its server. */
const askAgainMs = 3_000;

function versionHead() {
  const head = headers();
  head.set(versionHeader, String(version));
  return head;
}

/** Says so for a master whose minions trust its key. */
export class TrustedTeller {
  readonly #clusterId: string;
  readonly #member: string;
  #nats: NatsConnection | undefined;
  #subscription: Subscription | undefined;

  constructor(clusterId: string, member: string) {
    this.#clusterId = clusterId;
    this.#member = member;
  }

  /** May be called again, with the connection that there is now. */
  tellOn(nats: NatsConnection): void {
    if (nats === this.#nats) return;
    this.close();
    this.#nats = nats;
    this.#subscription = nats.subscribe(subjectOf(this.#clusterId), {
      callback: (error, message) => {
        if (error === null) message.respond(this.#member, { headers: versionHead() });
      },
    });
  }

  close(): void {
    if (this.#nats?.isClosed() === false) this.#subscription?.unsubscribe();
    this.#subscription = undefined;
    this.#nats = undefined;
  }
}

/**
 * Asks twice, because a master whose server is up may connect to it a moment later.
 *
 * @throws Error if such a master is there, or does not answer: it is asked again then
 */
export async function demandNoneTrusted(nats: NatsConnection, clusterId: string, signal?: AbortSignal): Promise<void> {
  await demandNoAnswer(nats, clusterId);
  await pause(askAgainMs, undefined, { signal });
  await demandNoAnswer(nats, clusterId);
}

async function demandNoAnswer(nats: NatsConnection, clusterId: string): Promise<void> {
  let member: string;
  let its: string | undefined;
  try {
    const answer = await nats.request(subjectOf(clusterId), "", { timeout: clusterRequestMs, headers: versionHead() });
    member = answer.string();
    its = answer.headers?.get(versionHeader);
  } catch (error) {
    if (error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders())) return;
    throw error;
  }
  // A former release names none.
  const isOther = its !== undefined && its !== "" && its !== String(version);
  const about = isOther ? ` (it answers in version ${its}, and this member reads version ${version})` : "";
  throw new Error(`${member} has minions that trust its key pair, and must give it first${about}`);
}
