/** A key's fingerprint, asked for when its row stays in sight. */
import { useEffect, useState } from "preact/hooks";
import type { ApiClient } from "../session/client.ts";

/** Rows that the operator scrolls past ask for nothing. */
const restMs = 150;

type Props = { readonly client: ApiClient; readonly id: string };

export function Fingerprint({ client, id }: Props) {
  const [text, setText] = useState("");
  useEffect(() => {
    let isOver = false;
    const ask = async () => {
      try {
        const found = await client.read<Record<string, Record<string, string>>>("wheel", "key.finger", { match: id });
        const fingers = Object.values(found).flatMap((byId) => byId[id] ?? []);
        if (!isOver) setText(fingers.join(" "));
      } catch (error) {
        if (!isOver) setText((error as Error).message);
      }
    };
    const timer = setTimeout(() => void ask(), restMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [client, id]);
  return (
    <span class="code finger cell-rest" title={text}>
      {text}
    </span>
  );
}
