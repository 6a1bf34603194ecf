/** What the connections of a ROUTER may hold, and for how long: src/limits.ts has each with its reason. */
import {
  allUnreadRepliesBytesMax,
  commandsPerMinuteMax,
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
  commandsPerMinuteMax,
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
