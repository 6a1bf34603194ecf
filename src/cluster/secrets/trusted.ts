/**
 * Which master gives a new cluster its key pair: one whose minions trust its key, if there is one. It says so while it waits for the cluster, and masters
 * without minions ask before they give theirs.
 */
import { headers, type NatsConnection, NoRespondersError, RequestError } from "@nats-io/nats-core";
import { clusterRequestMs } from "../../limits.ts";

function subjectOf(clusterId: string): string {
  return `sw.${clusterId}.trusted`;
}

/** Of question and answer, in a header. An answer of any version says that there is such a master, and its text names it. */
const version = 1;
const versionHeader = "Saltworks-Version";

function versionHead() {
  const head = headers();
  head.set(versionHeader, String(version));
  return head;
}

/** @returns a function that ends it */
export function tellTrusted(nats: NatsConnection, clusterId: string, member: string): () => void {
  const subscription = nats.subscribe(subjectOf(clusterId), {
    callback: (error, message) => {
      if (error === null) message.respond(member, { headers: versionHead() });
    },
  });
  return () => subscription.unsubscribe();
}

/** @throws Error if such a master is there, or does not answer: it is asked again then */
export async function demandNoneTrusted(nats: NatsConnection, clusterId: string): Promise<void> {
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
