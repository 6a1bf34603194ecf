/** What pages show while they wait or after a failure, and the badges of states. */
import type { ComponentChildren } from "preact";

export function Failure({ text }: { readonly text: string | undefined }) {
  return <div role="alert">{text !== undefined && <p class="failure">{text}</p>}</div>;
}

export function Waiting() {
  return <p class="empty">Loading …</p>;
}

/** The state is in the text: the colour only repeats it. */
export function Badge({ state, children }: { readonly state: string; readonly children?: ComponentChildren }) {
  return <span class={`badge badge-${state}`}>{children ?? state}</span>;
}

export function Tile({ name, value, note }: { readonly name: string; readonly value: string; readonly note?: string }) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        {value}
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  );
}
