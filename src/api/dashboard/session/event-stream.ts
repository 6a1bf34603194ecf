/** Reads server-sent events from a response, because EventSource cannot send the token in a header. */

export type StreamedEvent = { readonly tag: string; readonly data: Readonly<Record<string, unknown>> };

/** Calls `onEvent` for each block that holds an event. Comments, such as heartbeats, and other fields are left out. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (event: StreamedEvent) => void,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (rest + decoder.decode(part.value, { stream: true })).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== undefined) onEvent(event);
    }
  }
}

function eventOf(block: string): StreamedEvent | undefined {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  if (lines.length === 0) return undefined;
  const { tag, data } = JSON.parse(lines.map((line) => line.slice("data:".length)).join("\n"));
  return typeof tag === "string" ? { tag, data: typeof data === "object" && data !== null ? data : {} } : undefined;
}
