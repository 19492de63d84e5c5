// Follows the heartbeat: what the engine draws takes the place of what is shown, unless somebody is at it with the keyboard.
const live = document.getElementById("live");
if (live !== null)
  new EventSource("/console/live").addEventListener("heartbeat", (event) => {
    if (!live.contains(document.activeElement)) live.innerHTML = event.data;
  });
