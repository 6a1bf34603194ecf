/** Starts the members of a cluster at once, because a first start needs a majority. */
import type { MasterProcess } from "../master-process.ts";

/** If one fails, the others are removed. @throws what its start throws */
export async function startTogether(starts: readonly Promise<MasterProcess>[]): Promise<MasterProcess[]> {
  const started = await Promise.allSettled(starts);
  const members = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const fault = started.find((one) => one.status === "rejected");
  if (fault === undefined) return members;
  await Promise.all(members.map((member) => member.remove()));
  throw fault.reason;
}
