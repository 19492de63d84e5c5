package kurier.interop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;

import com.helger.json.IJson;
import com.helger.json.JsonObject;
import com.helger.phase4.mgr.MetaAS4Manager;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

/** The driver's side entrance: GET /control/inbox, POST /control/send, DELETE /control/forget. */
final class Control extends HttpServlet
{
  private static final long serialVersionUID = 1L;
  private final transient Keys keys;

  Control (final Keys keys)
  {
    this.keys = keys;
  }

  @Override
  protected void doGet (final HttpServletRequest request, final HttpServletResponse response) throws IOException
  {
    answer (response, 200, Inbox.all ());
  }

  /** Query: see Sender. Body: the payload's XML. */
  @Override
  protected void doPost (final HttpServletRequest request, final HttpServletResponse response) throws IOException
  {
    try
    {
      answer (response, 200, Sender.send (keys, request::getParameter, request.getInputStream ().readAllBytes ()));
    }
    catch (final Exception ex)
    {
      answer (response, 500, new JsonObject ().add ("failed", String.valueOf (ex)));
    }
  }

  /** The end of phase4's memory of MessageIds, which by default lasts ten minutes. */
  @Override
  protected void doDelete (final HttpServletRequest request, final HttpServletResponse response) throws IOException
  {
    answer (response, 200, new JsonObject ().add ("forgotten", MetaAS4Manager.getIncomingDuplicateMgr ().evictAllItemsBefore (OffsetDateTime.now ()).size ()));
  }

  private static void answer (final HttpServletResponse response, final int status, final IJson json) throws IOException
  {
    response.setStatus (status);
    response.setContentType ("application/json;charset=UTF-8");
    response.getOutputStream ().write (json.getAsJsonString ().getBytes (StandardCharsets.UTF_8));
  }
}
