// Count down to the end of the session, and warn before it ends. The server ends a session that asks for no page.
(() => {
  const place = document.querySelector("[data-idle-minutes]");
  if (!place) return;
  const minutes = Number(place.dataset.idleMinutes);
  const warnAt = Math.min(2, minutes / 2);
  const end = Date.now() + minutes * 60_000;
  let shown = "";

  const show = (text, state) => {
    if (text === shown) return;
    shown = text;
    place.textContent = text;
    place.dataset.state = state;
  };

  const update = () => {
    const left = (end - Date.now()) / 60_000;
    if (left <= 0) {
      show("Your session has ended. Sign in again to go on.", "ended");
      clearInterval(timer);
    } else if (left <= warnAt) {
      const text = left > 1 ? `${Math.ceil(left)} minutes` : "less than a minute";
      show(`Your session ends in ${text}. Save your work to stay signed in.`, "warning");
    }
  };

  const timer = setInterval(update, 1000);
})();
