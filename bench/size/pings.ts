/** The master's presence pings: what they need of the network and of CPU. From decision 4 and the limits, because scenarios do not answer them. Pure. */
import { presencePingsMax, presencePublishes, presenceRounds, presenceRoundsSilent } from "../../src/limits.ts";

/** A second of pings. `copies`: publishes times minions that get them. `answers`: of minions that were silent. */
export type Pings = { readonly copies: number; readonly answers: number };

/** The default of `presence_timeout`, seconds. */
const timeoutSeconds = 90;
const roundSeconds = timeoutSeconds / presenceRounds;
const silentSeconds = timeoutSeconds / 2;
/** A minion that becomes silent waits for half a round until it is pinged. */
const pingedAfterSeconds = silentSeconds + roundSeconds / 2;

/** Bytes of a ping for one minion, sealed and signed, and of its answer: as measured with an idle fleet of 1,000 minions. */
export const pingBytes = 700;
export const pingAnswerBytes = 650;

/** `contactsPerSecond`: requests of the whole fleet, each of which makes a ping needless for a while. */
export function pingsOf(minions: number, contactsPerSecond: number): Pings {
  const each = contactsPerSecond / minions;
  const isSilent = Math.exp(-silentSeconds * each);
  const cycleSeconds = each > 0 ? (1 - Math.exp(-pingedAfterSeconds * each)) / each : pingedAfterSeconds;
  const answers = (minions * isSilent) / cycleSeconds;
  const inRound = answers * roundSeconds;
  const places = Math.max(presencePingsMax, minions / presenceRoundsSilent);
  const ofPublish = presencePingsMax + places / presencePublishes;
  // A round without a silent minion publishes nothing.
  const publishes = inRound < 1 ? inRound : Math.ceil(inRound / ofPublish);
  return { copies: (publishes * minions) / roundSeconds, answers };
}
