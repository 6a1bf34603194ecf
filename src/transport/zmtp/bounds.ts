/** What the connections of a ROUTER may hold, and for how long: src/limits.ts has each with its reason. */
import {
  allUnreadRepliesBytesMax,
  greetingTimeoutMs,
  heldRequestsBytesMax,
  messageTimeoutMs,
  overdueLookMs,
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
  provenUnansweredMax,
  strangerUnansweredMax,
  strangersUnansweredMax,
  provenUnreadBytesMax,
  strangerUnreadBytesMax,
  strangersUnreadBytesMax,
  allUnreadRepliesBytesMax,
  strangersHeldBytesMax,
  heldRequestsBytesMax,
};
export type RouterBounds = { readonly [Name in keyof typeof routerBounds]: number };
