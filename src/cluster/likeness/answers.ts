/** Answers other members' questions about this one. The slow ones are answered by `answer`, elsewhere than in this loop. */
import type { NatsConnection, Subscription } from "@nats-io/nats-core";
import { SaltworksError } from "../../errors.ts";
import { likenessQuestionBytesMax, likenessQuestionsMax, natsMessageBytesMax } from "../../limits.ts";
import {
  type ClockAnswer,
  decodeQuestion,
  encodeAnswer,
  encodeFailure,
  type JobOwner,
  type LikenessQuestion,
  likenessSubject,
} from "./message.ts";

export type AnswerParts = {
  readonly nats: NatsConnection;
  readonly clusterId: string;
  readonly member: string;
  readonly role: ClockAnswer["role"];
  /** The owners of the cluster's jobs, as this member sees them. Undefined for a witness. */
  readonly owners?: (() => readonly JobOwner[]) | undefined;
  /** Answers a question other than the ones for the clock and the owners, as encoded JSON. Undefined for a witness. */
  readonly answer?: ((question: LikenessQuestion) => Promise<string>) | undefined;
};

/** One question is worked on at a time. At most `likenessQuestionsMax` wait, and further ones are refused. */
export function answerLikeness(parts: AnswerParts): { readonly close: () => void } {
  const { nats, clusterId, member } = parts;
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  const subscription: Subscription = nats.subscribe(likenessSubject(clusterId, member), {
    callback: (error, message) => {
      if (error !== null || message.data.length > likenessQuestionBytesMax) return;
      const respond = (text: string) => void message.respond(text);
      const question = decodeQuestion(message.string());
      if ("why" in question) return respond(encodeFailure({ message: question.why }));
      if (question.kind === "clock") return respond(encodeAnswer(clockOf(parts)));
      if (question.kind === "owners") return respond(ownersOf(parts));
      if (waiting >= likenessQuestionsMax) return respond(encodeFailure({ message: "it has too many such questions" }));
      waiting += 1;
      last = last.then(async () => {
        const text = await answerOf(parts, question);
        waiting -= 1;
        // Names of files may be long, and NATS takes no message above its bound.
        const isTooLarge = Buffer.byteLength(text) > natsMessageBytesMax;
        respond(
          isTooLarge
            ? encodeFailure({ message: "its answer is too large: the names of its files are too long" })
            : text,
        );
      });
    },
  });
  return { close: () => subscription.unsubscribe() };
}

function clockOf({ role }: AnswerParts): ClockAnswer {
  return { role, atMs: Date.now() };
}

function ownersOf({ owners }: AnswerParts): string {
  return owners === undefined ? encodeFailure({ message: "a witness owns no jobs" }) : encodeAnswer(owners());
}

async function answerOf({ answer }: AnswerParts, question: LikenessQuestion): Promise<string> {
  try {
    return answer === undefined ? encodeFailure({ message: "a witness has no files" }) : await answer(question);
  } catch (error) {
    const { message } = error instanceof SaltworksError ? error : new SaltworksError("FILES_FAILED", String(error));
    return encodeFailure({ message });
  }
}
