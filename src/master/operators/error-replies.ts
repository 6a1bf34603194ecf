/** Replies to refused callers, in the words and forms of Salt's master. Pure. */
import type { Encodable } from "../../wire/values.ts";
import type { Caller } from "../../workers/messages/deferred.ts";

/** An error in the form that Salt's clients raise as an exception. */
export function errorReply(name: string, message: string) {
  return { error: { name, message } };
}

const failureKinds = {
  token: { name: "TokenAuthenticationError", type: "token" },
  eauth: { name: "EauthAuthenticationError", type: "eauth" },
  key: { name: "UserAuthenticationError", type: "user" },
} as const;

/** Salt's reply to a caller of a runner or wheel function that does not prove its name. */
export function unknownCaller(caller: Caller): Encodable {
  const { name, type } = failureKinds[caller.kind];
  const ending = {
    token: ".",
    key: "",
    eauth: caller.kind === "eauth" ? ` for user ${caller.credential.username}.` : "",
  };
  return errorReply(name, `Authentication failure of type "${type}" occurred${ending[caller.kind]}`);
}

/** Salt's reply to a caller without the permission. */
export function refusedCall(caller: Caller, user: string, decision: "denied" | "malformed"): Encodable {
  if (decision === "malformed")
    return errorReply("SaltInvocationError", "A command invocation error occurred: Check syntax.");
  const { name, type } = failureKinds[caller.kind];
  return errorReply(name, `Authentication failure of type "${type}" occurred for user ${user}.`);
}

/** The reply to a client that wants to call a function without a job record, if the function does more than read. */
export function notReading(name: string): Encodable {
  return errorReply("SaltInvocationError", `'${name}' is not available for reading: it may change something`);
}

/** The reply to a publish whose target is refused. Salt's command line shows the reason. */
export function refusedTarget(reason: string): Encodable {
  return { enc: "clear", load: { jid: null, minions: [], error: reason, refused: reason } };
}
