/** Hears which members of a cluster run: each tells the others so every second. */
import { setTimeout as pause } from "node:timers/promises";
import type { NatsConnection } from "@nats-io/nats-core";
import { hasCode } from "../../errors.ts";
import { presenceHeardMs, presenceMembersMax } from "../../limits.ts";
import { clusterNames } from "../names.ts";
import { isOtherVersion } from "../other-version.ts";
import { decodePresence } from "./message.ts";

/** @returns their names, `presenceMembersMax` at most */
export async function heardMembers(nats: NatsConnection, clusterId: string): Promise<Set<string>> {
  const names = new Set<string>();
  const subscription = nats.subscribe(clusterNames(clusterId).presenceSubject, {
    callback: (error, message) => {
      if (error === null && names.size < presenceMembersMax) addSender(names, message.data);
    },
  });
  try {
    await pause(presenceHeardMs);
    return names;
  } finally {
    subscription.unsubscribe();
  }
}

function addSender(names: Set<string>, bytes: Uint8Array): void {
  try {
    const { by, kind } = decodePresence(bytes);
    if (kind === "end") names.delete(by);
    else names.add(by);
  } catch (error) {
    if (!hasCode(error, "CLUSTER_REFUSED")) throw error;
    // One of another version is asked, too, so that the report names it.
    if (isOtherVersion(error) && typeof error.detail.by === "string") names.add(error.detail.by);
  }
}
