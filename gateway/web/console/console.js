// Follows the heartbeat: what the engine draws takes the place of what is shown, unless somebody is at it with the
// keyboard, has marked some of it, or wants it to hold still.
const live = document.getElementById("live");
const hold = document.getElementById("hold");
if (live !== null && hold !== null) {
  const words = ["Hold still", "Follow again"];
  const isHeld = () => hold.textContent === words[1];
  const isMarked = () => {
    const selection = document.getSelection();
    return selection !== null && !selection.isCollapsed && live.contains(selection.anchorNode);
  };
  hold.hidden = false;
  hold.addEventListener("click", () => {
    hold.textContent = words[isHeld() ? 0 : 1];
  });
  /** Some beats are late on a busy engine; one that has ended, or who is signed out, gets none. */
  const SILENCE_MS = 15_000;
  /** So late no alarm is where somebody listens: the machine slept, or the browser had put the page aside. */
  const ASLEEP_MS = 5_000;
  const old = document.getElementById("old");
  let silence;
  const waitAnew = () => {
    old.hidden = true;
    clearTimeout(silence);
    const due = Date.now() + SILENCE_MS;
    silence = setTimeout(() => {
      if (Date.now() - due > ASLEEP_MS) waitAnew();
      else old.hidden = false;
    }, SILENCE_MS);
  };
  const listen = () => {
    const source = new EventSource("/console/live");
    source.addEventListener("heartbeat", (event) => {
      waitAnew();
      if (!isHeld() && !isMarked() && !live.contains(document.activeElement)) live.innerHTML = event.data;
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(listenAgain, SILENCE_MS);
    });
  };
  /** Browsers ask no more after a 503, as of an engine without its database or a proxy without its engine. */
  const listenAgain = async () => {
    const isSignedOut = await fetch("/console/live", { signal: AbortSignal.timeout(SILENCE_MS) }).then(
      ({ status }) => status === 204,
      () => false,
    );
    if (!isSignedOut) listen();
  };
  waitAnew();
  listen();
}
