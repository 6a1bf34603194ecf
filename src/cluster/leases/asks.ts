/** Questions of a member to the owner of a job, and what it tells all: over core NATS, sealed. */
import { type NatsConnection, RequestError } from "@nats-io/nats-core";
import { SaltworksError } from "../../errors.ts";
import { ownerAnswerMs } from "../../limits.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { openRecord, sealRecord } from "../secrets/record.ts";
import { encodeName } from "./record.ts";

export type OwnerQuestion =
  | {
      readonly kind: "control";
      readonly action: "pause" | "resume" | "abort";
      readonly jid: string;
      readonly user: string;
    }
  | { readonly kind: "cancel"; readonly jid: string; readonly minion: string | undefined };

/** Minions that have come back, to members that own jobs for them. */
export type Appeared = { readonly ids: readonly string[]; readonly how: "start" | "auth" | "contact" };

type Answer = { readonly value?: unknown; readonly why?: string };

export type OwnerAsksOptions = {
  readonly nats: NatsConnection;
  readonly subject: string;
  /** This member's name. */
  readonly member: string;
  readonly box: SecretBox;
  readonly answer: (question: OwnerQuestion) => Promise<unknown>;
  readonly onAppeared: (appeared: Appeared) => void;
  readonly onFault: (error: unknown) => void;
};

/** The seal's names: a question cannot stand in for an answer. */
const names = { ask: "owner/ask", answer: "owner/answer", told: "owner/told" } as const;

export class OwnerAsks {
  readonly #options: OwnerAsksOptions;
  readonly #subscriptions: readonly { readonly unsubscribe: () => void }[];

  constructor(options: OwnerAsksOptions) {
    this.#options = options;
    const { nats, member, subject, box } = options;
    this.#subscriptions = [
      nats.subscribe(this.#subjectOf(member), {
        callback: (error, message) => {
          if (error === null) void this.#answer(message.data).then((sealed) => message.respond(sealed));
          else options.onFault(error);
        },
      }),
      nats.subscribe(subject, {
        callback: (error, message) => {
          try {
            if (error !== null) throw error;
            const { by, ...told } = openRecord<Appeared & { by: string }>(box, names.told, message.data);
            if (by !== member) options.onAppeared(told);
          } catch (fault) {
            options.onFault(fault);
          }
        },
      }),
    ];
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE if the owner does not answer, or cannot do it */
  async ask(owner: string, question: OwnerQuestion): Promise<unknown> {
    const { nats, box } = this.#options;
    let reply: Uint8Array;
    try {
      const sealed = sealRecord(box, names.ask, question);
      reply = (await nats.request(this.#subjectOf(owner), sealed, { timeout: ownerAnswerMs })).data;
    } catch (cause) {
      const isAway = cause instanceof RequestError && cause.isNoResponders();
      const why = isAway ? "does not run" : "does not answer";
      const text = `member ${owner}, which owns the job ${question.jid}, ${why}: another member takes the job over soon`;
      throw new SaltworksError("CLUSTER_UNAVAILABLE", text, { jid: question.jid }, { cause });
    }
    const { value, why } = openRecord<Answer>(box, names.answer, reply);
    if (why !== undefined) throw new SaltworksError("CLUSTER_UNAVAILABLE", `member ${owner}: ${why}`);
    return value;
  }

  tell(appeared: Appeared): void {
    const { nats, subject, box, member } = this.#options;
    if (!nats.isClosed()) nats.publish(subject, sealRecord(box, names.told, { ...appeared, by: member }));
  }

  close(): void {
    for (const one of this.#subscriptions) one.unsubscribe();
  }

  async #answer(bytes: Uint8Array): Promise<Buffer> {
    const { box, answer } = this.#options;
    let told: Answer;
    try {
      told = { value: await answer(openRecord<OwnerQuestion>(box, names.ask, bytes)) };
    } catch (error) {
      told = { why: (error as Error).message };
    }
    return sealRecord(box, names.answer, told);
  }

  #subjectOf(member: string): string {
    return `${this.#options.subject}.${encodeName(member)}`;
  }
}
