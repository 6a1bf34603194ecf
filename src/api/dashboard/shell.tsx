/** What stands around every page: the navigation, the user and the page's title. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { addressOf, type PageName, pages, titles } from "./views/place.ts";

type Props = {
  readonly page: PageName;
  readonly item: string;
  readonly user: string;
  readonly onLogout: () => void;
  readonly children: ComponentChildren;
};

export function Shell({ page, item, user, onLogout, children }: Props) {
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${item === "" ? titles[page] : item} · Saltworks`;
    // A change of page moves the focus there, as a loaded page would; the first page leaves it alone.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [page, item]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <span class="brand">Saltworks</span>
        <nav aria-label="Pages">
          {pages.map((name) => (
            <a key={name} href={addressOf(name)} {...(name === page ? { "aria-current": "page" } : {})}>
              {titles[name]}
            </a>
          ))}
        </nav>
        <div class="user">
          <span>{user}</span>
          <button type="button" onClick={onLogout}>
            Log out
          </button>
        </div>
      </header>
      <main ref={main} id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}
