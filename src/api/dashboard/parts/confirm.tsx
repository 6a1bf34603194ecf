/** Asks before a change. The browser's own dialog element keeps the focus inside and closes on Escape. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure } from "./notices.tsx";

type Props = {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly children?: ComponentChildren;
  /** The dialog stays open and shows the message if this fails. */
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
};

export function Confirm({ title, action, isDangerous = false, children, onConfirm, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const confirm = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      setError((failure as Error).message);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={onClose}>
      <form onSubmit={(event) => void confirm(event)}>
        <h2 id="confirm-title">{title}</h2>
        {children}
        <Failure text={error} />
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? "danger" : "primary"} disabled={isBusy}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
