/**
 * The master's presence pings: what they need of the network and of CPU. From decision 4 and the limits, because the scenarios' minions do not answer
 * them. Upper bounds: minions that are silent together are asked together, and less often. Pure.
 */
import { presencePingsMax, presencePublishes, presenceRounds, presenceRoundsSilent } from "../../src/limits.ts";
import { blockIds, silentMinOf } from "../../src/master/presence/ping-targets.ts";

/** A second of pings. `copies`: publishes times minions that get them, of `copyBytes` each. `answers`: of minions that were asked. */
type Pings = { readonly copies: number; readonly copyBytes: number; readonly answers: number };

/** The default of `presence_timeout`, seconds. */
const timeoutSeconds = 90;
const roundSeconds = timeoutSeconds / presenceRounds;
const silentSeconds = timeoutSeconds / 2;
/** A minion that becomes silent waits for half a round until it is asked. */
const askedAfterSeconds = silentSeconds + roundSeconds / 2;

/** A publish that names whole blocks, sealed and signed, as measured with an idle fleet of 1,000 minions; an id in a list; and an answer. */
const publishBytes = 700;
const idBytes = 20;
export const pingAnswerBytes = 650;

/** `contactsPerSecond`: requests of the whole fleet, each of which makes a ping needless for a while. */
export function pingsOf(minions: number, contactsPerSecond: number): Pings {
  const each = contactsPerSecond / minions;
  const silentShare = Math.exp(-silentSeconds * each);
  if (Math.min(blockIds, minions) * silentShare >= silentMinOf(minions)) return wholeBlocks(minions);
  const cycleSeconds = (1 - Math.exp(-askedAfterSeconds * each)) / each;
  const answers = (minions * silentShare) / cycleSeconds;
  const inRound = answers * roundSeconds;
  // A round without a silent minion publishes nothing.
  const publishes = inRound < 1 ? inRound : Math.ceil(inRound / presencePingsMax);
  const copies = (publishes * minions) / roundSeconds;
  return { copies, copyBytes: publishBytes + (idBytes * inRound) / Math.max(1, publishes), answers };
}

/** Neighbours of silent minions are asked, too, so that all are asked about as often as in an idle fleet. */
function wholeBlocks(minions: number): Pings {
  const places = Math.max(presencePingsMax, minions / presenceRoundsSilent);
  const publishes = Math.ceil(minions / (presencePingsMax + places / presencePublishes));
  const copies = (publishes * minions) / askedAfterSeconds;
  return { copies, copyBytes: publishBytes, answers: minions / askedAfterSeconds };
}
