/** Streams of events as they were recorded: server-sent events, and the heads of WebSockets. */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { differencesOf } from "./comparable.ts";

export type StreamEvent = { readonly tag: string; readonly data: unknown };
const blockForm = /^tag: ([^\n]+)\ndata: ([^\n]+)\nid: [^\n]+$/;

/** Reads `/events` from now on. */
export class EventReader {
  readonly head: IncomingMessage;
  #text = "";

  private constructor(head: IncomingMessage) {
    this.head = head;
    head.on("data", (part: Buffer) => {
      this.#text += part.toString("latin1");
    });
    // The API ends with its master.
    head.on("error", () => undefined);
  }

  static async open(port: number, id: string): Promise<EventReader> {
    const asked = get({
      host: "127.0.0.1",
      port,
      path: "/events",
      headers: { Cookie: `session_id=${id}` },
      agent: false,
    });
    const [head] = (await once(asked, "response")) as [IncomingMessage];
    return new EventReader(head);
  }

  /** What was sent, block by block. @throws Error if a block has another form */
  get events(): StreamEvent[] {
    const [start = "", ...rest] = this.#text.split(/(?<=^retry: 400\n)/);
    if (start !== "retry: 400\n") throw new Error(`the stream begins with ${start.slice(0, 40)}`);
    const blocks = rest.join("").split("\n\n").slice(0, -1);
    return blocks
      .filter((block) => block !== ": ping")
      .map((block) => {
        const [, tag = "", data = ""] = blockForm.exec(block) ?? [];
        const event = JSON.parse(data) as StreamEvent;
        if (event.tag !== tag) throw new Error(`an event has two tags: ${block.slice(0, 200)}`);
        return event;
      });
  }
}

const tagForm = (tag: string) => tag.replaceAll(/20\d{18}/g, "<jid>");

/** For a recorded event: undefined if an event of ours has the same form, else what differs from the nearest one. */
export function nearest(recorded: StreamEvent, events: readonly StreamEvent[]): string | undefined {
  const candidates = events.filter(({ tag }) => tagForm(tag) === tagForm(recorded.tag));
  if (candidates.length === 0) return `no event ${tagForm(recorded.tag)}`;
  const found = candidates.map((event) => differencesOf(recorded, event)).sort((a, b) => a.length - b.length);
  return found[0]?.length === 0 ? undefined : `${tagForm(recorded.tag)}: ${found[0]?.join("; ")}`;
}

/** The status line of the answer to a request for a WebSocket. */
export async function upgradeLine(port: number, request: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(request);
  const [part] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return part.toString().split("\r\n")[0] ?? "";
}
