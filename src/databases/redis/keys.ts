/** Keys of Salt's returner `redis`. Source: the keys that a master of Salt 3007 wrote. */

export const loadPrefix = "load:";
/** A set of the names of all minions that returned. */
export const minionsKey = "minions";
export const returnsPrefix = "ret:";

/** A text: the job's load as JSON. */
export function loadKey(jid: string): string {
  return loadPrefix + jid;
}

/** A hash: the JSON of each minion's return by the minion's name. */
export function returnsKey(jid: string): string {
  return returnsPrefix + jid;
}

/**
 * A text: the job in which the minion last ran the function. Undefined for a minion whose name is that of other keys (`load`, `ret`): its return could
 * overwrite a job.
 */
export function lastJobKey(minionId: string, fun: string): string | undefined {
  const key = `${minionId}:${fun}`;
  return [loadPrefix, returnsPrefix].some((prefix) => key.startsWith(prefix)) ? undefined : key;
}
