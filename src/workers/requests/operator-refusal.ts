/** What an operator's command hears whose credential is refused, in the words of Salt's master. docs/protocol.md section 7.2. Pure. */
import type { Encodable } from "../../wire/values.ts";

/** Clear commands that come with a credential, which is looked at before anything else of them. */
export const operatorCommands = ["publish", "runner", "wheel"] as const;
export type OperatorCommand = (typeof operatorCommands)[number];
/** By what the sender was to be known. */
export type CredentialKind = "token" | "eauth" | "key";

const commands: ReadonlySet<string | undefined> = new Set(operatorCommands);

export function isOperatorCommand(command: string | undefined): command is OperatorCommand {
  return commands.has(command);
}

/** Of runners and wheel functions; a publish is refused in the same words for each kind. */
const words = {
  token: { name: "TokenAuthenticationError", message: 'Authentication failure of type "token" occurred.' },
  eauth: { name: "EauthAuthenticationError", message: 'Authentication failure of type "eauth" occurred.' },
  key: { name: "UserAuthenticationError", message: 'Authentication failure of type "user" occurred' },
} as const;
const publishWords = { name: "AuthenticationError", message: "Authentication error occurred." };

export function operatorRefusal(command: OperatorCommand, refused: CredentialKind): Encodable {
  return { error: command === "publish" ? publishWords : words[refused] };
}
