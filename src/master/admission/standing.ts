/** The standing of a request: how far the main thread trusts it before a worker has checked it. */
import { clearFrameBytesMax, credentialLoadBytesMax } from "../../limits.ts";
import type { ClearHead } from "../../wire/request.ts";
import { isOperatorCommand } from "../../workers/requests/operator-refusal.ts";
import type { Route } from "./route.ts";

/**
 * `proven`: over a connection that has proved itself, or a clear request with a right key. `named`: sealed; its id has an accepted key, or it is of
 * an older release, which hides the id. `large`: maybe a minion's or an operator's, but too large for an ordinary batch. `stranger`: anything else.
 */
export const standings = ["proven", "named", "stranger", "large"] as const;
export type Standing = (typeof standings)[number];

export type StandingQuestions = {
  readonly isAccepted: (id: string) => boolean;
  /** Whether a clear load's key belongs to the named user. */
  readonly hasRightKey: (user: string | undefined, key: Uint8Array) => boolean;
};

/** Undefined: the request is too large for its command, and is refused unread. */
export function standingOf(
  route: Route,
  frameBytes: number,
  isPeerProven: boolean,
  { isAccepted, hasRightKey }: StandingQuestions,
): Standing | undefined {
  if (route.kind === "overfull") return undefined;
  if (isPeerProven) return "proven";
  const isLarge = frameBytes > clearFrameBytesMax;
  switch (route.kind) {
    case "auth":
      // An `_auth` too large for the auth queue comes this way. A worker refuses it in Salt's words.
      return "stranger";
    case "sealed": {
      const isNamed = route.id === undefined || isAccepted(route.id);
      if (isNamed) return isLarge ? "large" : "named";
      break;
    }
    case "clear": {
      const { head } = route;
      if (head?.key !== undefined && hasRightKey(head.user, head.key)) return "proven";
      if (isLarge && (head === undefined || mayBringLogin(head, frameBytes))) return "large";
      break;
    }
  }
  return isLarge ? undefined : "stranger";
}

/** Whether a large request without a right key may still be an operator's, by token or password. */
function mayBringLogin({ cmd, login }: ClearHead, frameBytes: number): boolean {
  if (!isOperatorCommand(cmd) || login === undefined) return false;
  return login !== "eauth" || frameBytes <= credentialLoadBytesMax;
}
