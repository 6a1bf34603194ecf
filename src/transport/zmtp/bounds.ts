/** What the connections of a ROUTER may hold, and for how long. src/limits.ts gives the reason of each. */
import {
  allUnreadRepliesBytesMax,
  commandsAtOnceMax,
  commandsPerMinuteMax,
  commandsPerSecondMax,
  greetingTimeoutMs,
  messageTimeoutMs,
  overdueLookMs,
  provenHeldBytesMax,
  provenUnansweredMax,
  provenUnreadBytesMax,
  strangersHeldBytesMax,
  strangersUnansweredMax,
  strangersUnreadBytesMax,
  strangerUnansweredMax,
  strangerUnreadBytesMax,
} from "../../limits.ts";

export const routerBounds = {
  greetingTimeoutMs,
  messageTimeoutMs,
  overdueLookMs,
  commandsAtOnceMax,
  commandsPerMinuteMax,
  commandsPerSecondMax,
  provenUnansweredMax,
  strangerUnansweredMax,
  strangersUnansweredMax,
  provenUnreadBytesMax,
  strangerUnreadBytesMax,
  strangersUnreadBytesMax,
  allUnreadRepliesBytesMax,
  strangersHeldBytesMax,
  provenHeldBytesMax,
};
export type RouterBounds = { readonly [Name in keyof typeof routerBounds]: number };
